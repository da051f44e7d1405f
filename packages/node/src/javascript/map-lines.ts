import { closeSync, fstatSync, readSync } from 'node:fs';
import { isTrusted, NamedFile, requireRegular } from '../files/index.ts';
import type { MapLine } from './optimised-code.ts';

const NEWLINE = 0x0a;
const PIECE_BYTES = 1 << 20;
const LINE = /^([0-9a-f]{1,16}) ([0-9a-f]{1,8}) (.+)$/;

/** The lines of a perf map, as they are written. */
export class MapLines implements Disposable {
  readonly #paths: readonly string[];
  readonly #uid: number;
  #fd = -1;
  #at = 0;

  /** `paths`: where the map may be; `uid`: whose process it is. */
  constructor(paths: readonly string[], uid: number) {
    this.#paths = paths;
    this.#uid = uid;
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

  /** Of the map, up to now; 0: there is none. */
  get sizeBytes(): number {
    return this.isThere ? fstatSync(this.#fd).size : 0;
  }

  /** Whole lines that came since the last call. */
  *read(): Generator<MapLine> {
    if (!this.isThere) return;
    while (fstatSync(this.#fd).size > this.#at) {
      const piece = Buffer.allocUnsafe(Math.min(fstatSync(this.#fd).size - this.#at, PIECE_BYTES));
      const size = readSync(this.#fd, piece, 0, piece.length, this.#at);
      const end = piece.lastIndexOf(NEWLINE, size - 1) + 1;
      // A line is not whole yet, or is none.
      if (size === 0 || end === 0) return;
      this.#at += end;
      for (const line of piece.toString('utf8', 0, end - 1).split('\n')) {
        const [, start, bytes, recordedName] = LINE.exec(line) ?? [];
        if (recordedName !== undefined)
          yield { start: Number.parseInt(start!, 16), size: Number.parseInt(bytes!, 16), recordedName };
      }
    }
  }

  /** The other side is not trusted: see `readMapAt` of the recorder. */
  #open(): void {
    for (const path of this.#paths) {
      try {
        using file = new NamedFile(path, { followLink: false });
        requireRegular(file, { recorded: true });
        if (file.facts.uid !== this.#uid && !isTrusted(file.facts.uid)) continue;
        this.#fd = file.openSync();
        return;
      } catch {
        // Not written yet.
      }
    }
  }
}
