import { closeSync, fstatSync, readSync } from 'node:fs';
import { isOfEarlierProcess, isTrusted, NamedFile, requireRegular } from '../../../host/files/index.ts';
import type { MapLine } from './optimised-code.ts';

const NEWLINE = 0x0a;
/** A piece is read again from where its last whole line ended; V8's lines are shorter. */
const PIECE_BYTES = 1 << 16;
const LONGEST_LINE_BYTES = 1 << 20;
const PROBE = new Uint8Array(2);
const MOST_START_DIGITS = 16;
const MOST_SIZE_DIGITS = 8;

/** The lines of a perf map, as they are written. */
export class MapLines implements Disposable {
  readonly #paths: readonly string[];
  readonly #uid: number;
  readonly #startMs: number | null;
  #fd = -1;
  #at = 0;
  #sizeBytes = 0;

  /** `paths`: where the map may be; `uid`: whose process it is, and when it began (see `WatchedMap`). */
  constructor(paths: readonly string[], uid: number, startMs: number | null = null) {
    this.#paths = paths;
    this.#uid = uid;
    this.#startMs = startMs;
  }

  [Symbol.dispose](): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /** Whether its process writes one. */
  get isThere(): boolean {
    if (this.#fd < 0) this.#open();
    return this.#fd >= 0;
  }

  /**
   * Of the map, up to now; 0: there is none. Asked all the time, and it rarely grows: the bytes around
   * its end cost a fifth of what its facts cost. It is smaller where a program began it anew: then it is
   * read again from its first line.
   */
  get sizeBytes(): number {
    if (!this.isThere) return 0;
    const known = Math.max(0, this.#sizeBytes - 1);
    const isSame = readSync(this.#fd, PROBE, 0, PROBE.length, known) === this.#sizeBytes - known;
    if (isSame) return this.#sizeBytes;
    this.#sizeBytes = fstatSync(this.#fd).size;
    if (this.#sizeBytes < this.#at) this.#at = 0;
    return this.#sizeBytes;
  }

  /** Whole lines that came since the last call. */
  *read(): Generator<MapLine> {
    for (let pieceBytes = PIECE_BYTES; this.sizeBytes > this.#at; ) {
      const piece = Buffer.allocUnsafe(Math.min(this.#sizeBytes - this.#at, pieceBytes));
      const size = readSync(this.#fd, piece, 0, piece.length, this.#at);
      const end = size === 0 ? 0 : piece.lastIndexOf(NEWLINE, size - 1) + 1;
      if (end === 0) {
        // A line is not whole yet, or is none.
        if (size < pieceBytes || pieceBytes >= LONGEST_LINE_BYTES) return;
        pieceBytes = LONGEST_LINE_BYTES;
        continue;
      }
      this.#at += end;
      let last: MapLine | null = null;
      for (const text of piece.toString('utf8', 0, end - 1).split('\n')) {
        const line = mapLineOf(text);
        if (line === null) {
          // The rest of a name with a line feed in it, as `PerfMapParser` joins them.
          if (last !== null && text !== '') last.recordedName += ` ${text}`;
          continue;
        }
        if (last !== null) yield last;
        last = line;
      }
      if (last !== null) yield last;
    }
  }

  /** The other side is not trusted: see `readMapAt` of the recorder. */
  #open(): void {
    for (const path of this.#paths) {
      try {
        using file = new NamedFile(path, { followLink: false });
        requireRegular(file, { recorded: true });
        if (file.facts.uid !== this.#uid && !isTrusted(file.facts.uid)) continue;
        if (isOfEarlierProcess(file.facts.mtimeMs, this.#startMs)) continue;
        this.#fd = file.openSync();
        return;
      } catch {
        // Not written yet.
      }
    }
  }
}

/**
 * `START SIZE NAME`, numbers in hexadecimal; null: it is none. A Node writes a thousand of them when it
 * starts, and code for each that an optimising compiler finds worth its time costs more than they do.
 */
export function mapLineOf(text: string): MapLine | null {
  const startEnd = text.indexOf(' ');
  const sizeEnd = text.indexOf(' ', startEnd + 1);
  if (startEnd < 1 || startEnd > MOST_START_DIGITS || sizeEnd < 0 || sizeEnd === text.length - 1) return null;
  if (sizeEnd - startEnd > MOST_SIZE_DIGITS + 1) return null;
  const start = Number(`0x${text.slice(0, startEnd)}`);
  const size = Number(`0x${text.slice(startEnd + 1, sizeEnd)}`);
  return Number.isNaN(start + size) ? null : { start, size, recordedName: text.slice(sizeEnd + 1) };
}
