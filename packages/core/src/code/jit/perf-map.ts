import { DamageLog, decodeUtf8, TWO_32 } from '../../base/index.ts';
import { HEX_VALUE } from './hex.ts';

/**
 * The lines of a `perf-PID.map`, in the order they were written: where a JIT compiler put a function, how
 * large, its name (which may have spaces). The interface is described in the kernel's
 * tools/perf/Documentation/jit-interface.txt.
 *
 *     7f41d2c04a20 1c4 LazyCompile:*parse file:///app/parse.js:12:8
 */
export interface PerfMap {
  /** Number of lines that were read: the length of `start` and `end`. */
  count: number;
  /** Address of the first byte of each function: a signed 64-bit value as float64. */
  start: Float64Array;
  /** Address behind its last byte. A line without a size has one byte. */
  end: Float64Array;
  /** Where each name begins in `names`, and where the last one ends. */
  nameStart: Uint32Array;
  /** UTF-8, one name behind the other. */
  names: Uint8Array;
  /** Lines that are not of the form (`perf-map-line`). */
  damage: DamageLog;
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
/** As the first lines are, so are the rest, more or less. */
const SLACK = 1.06;
const FIRST_LINES = 256;
const EMPTY = new Uint8Array(0);
/** Of code that V8 compiled from a source. */
const NAME_WITH_PLACE = /^(?:JS|LazyCompile|Function|Eval|Script|Module):/;
const PLACE_AT_END = /:\d+$/;
const LONGEST_UNFINISHED = 1 << 12;
/** Names are shorter. A longer line is damaged, and nothing of it is kept. */
const MOST_LINE_BYTES = 1 << 20;

/** The lines of a map that is in memory. Those that are not of the form are counted and skipped. */
export function parsePerfMap(bytes: Uint8Array): PerfMap {
  const parser = new PerfMapParser(bytes.length);
  parser.push(bytes);
  return parser.finish();
}

/** The lines of a map in pieces: what is kept of it are its addresses and names, and not the bytes. */
export class PerfMapParser {
  readonly #totalBytes: number;
  readonly #damage = new DamageLog();
  #start = new Float64Array(FIRST_LINES);
  #end = new Float64Array(FIRST_LINES);
  #nameStart = new Uint32Array(FIRST_LINES + 1);
  #names: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_LINES * 64);
  #count = 0;
  /** A line whose end has not come: the first `#restBytes`. */
  #rest: Uint8Array = EMPTY;
  #restBytes = 0;
  /** The end of a line that is too long has not come. */
  #isSkipping = false;
  /** Of the first byte of the next piece, or of `#rest`. */
  #offset = 0;

  /** `totalBytes`: of all pieces. */
  constructor(totalBytes: number) {
    this.#totalBytes = totalBytes;
  }

  /** Whole lines so far. */
  get lineCount(): number {
    return this.#count;
  }

  /** Does not keep the piece. Each byte is looked at once, however small the pieces are. */
  push(piece: Uint8Array): void {
    let from = 0;
    if (this.#isSkipping || this.#restBytes > 0) {
      const newline = piece.indexOf(NEWLINE);
      from = newline === -1 ? piece.length : newline + 1;
      if (this.#isSkipping) this.#offset += from;
      else this.#keep(piece.subarray(0, from));
      if (newline === -1) return;
      if (!this.#isSkipping) this.#offset += this.#lines(this.#takeRest(), false);
      this.#isSkipping = false;
    }
    const bytes = piece.subarray(from);
    const used = this.#lines(bytes, false);
    this.#offset += used;
    this.#keep(bytes.subarray(used));
  }

  /** Behind what there is of a line. */
  #keep(bytes: Uint8Array): void {
    const length = this.#restBytes + bytes.length;
    // The end of the line may be among them.
    if (length > MOST_LINE_BYTES + 1) {
      this.#damage.add('perf-map-line', this.#offset);
      this.#offset += length;
      this.#takeRest();
      this.#isSkipping = true;
      return;
    }
    if (length > this.#rest.length) {
      const bigger = new Uint8Array(Math.min(2 * length, MOST_LINE_BYTES + 1));
      bigger.set(this.#rest.subarray(0, this.#restBytes));
      this.#rest = bigger;
    }
    this.#rest.set(bytes, this.#restBytes);
    this.#restBytes = length;
  }

  /** Valid until more is kept. */
  #takeRest(): Uint8Array {
    const rest = this.#rest.subarray(0, this.#restBytes);
    this.#restBytes = 0;
    return rest;
  }

  finish(): PerfMap {
    this.#lines(this.#takeRest(), true);
    this.#rest = EMPTY;
    const count = this.#count;
    return {
      count,
      start: this.#start.subarray(0, count),
      end: this.#end.subarray(0, count),
      nameStart: this.#nameStart.subarray(0, count + 1),
      names: this.#names.subarray(0, this.#nameStart[count]),
      damage: this.#damage,
    };
  }

  /** Gives where the last whole line ends; with `isLast`, that is the end. */
  #lines(bytes: Uint8Array, isLast: boolean): number {
    const reader = new HexReader(bytes);
    let line = 0;
    while (line < bytes.length) {
      const found = bytes.indexOf(NEWLINE, line);
      if (found === -1 && !isLast) break;
      const next = found === -1 ? bytes.length : found;
      let end = next;
      if (end - line > MOST_LINE_BYTES) {
        this.#damage.add('perf-map-line', this.#offset + line);
        line = next + 1;
        continue;
      }
      if (end > line && bytes[end - 1] === CARRIAGE_RETURN) end--;
      const start = reader.read(line, end);
      const afterStart = reader.at;
      const size = afterStart > line && bytes[afterStart] === SPACE ? reader.read(afterStart + 1, end) : -1;
      const name = reader.at + 1;
      if (size >= 0 && reader.at > afterStart + 1 && bytes[reader.at] === SPACE && name < end)
        this.#add(start, size, bytes, name, end, this.#offset + next);
      else if (end > line && !this.#continue(bytes, line, end))
        this.#damage.add('perf-map-line', this.#offset + line);
      line = next + 1;
    }
    return Math.min(line, bytes.length);
  }

  /**
   * V8 writes names as they are: what a program calls a function, or a script, may have line feeds. Its names
   * end with a place, so one that has none yet goes on in the next line. False: it does not.
   */
  #continue(bytes: Uint8Array, line: number, end: number): boolean {
    const row = this.#count - 1;
    if (row < 0) return false;
    const from = this.#nameStart[row]!;
    const at = this.#nameStart[row + 1]!;
    if (!isUnfinishedName(this.#names.subarray(from, at))) return false;
    const length = at + 1 + end - line;
    if (length > this.#names.length) {
      const names = new Uint8Array(Math.max(length, Math.min(2 * length, this.#totalBytes)));
      names.set(this.#names.subarray(0, at));
      this.#names = names;
    }
    // Names are one line in everything that shows them.
    this.#names[at] = SPACE;
    this.#names.set(bytes.subarray(line, end), at + 1);
    this.#nameStart[row + 1] = length;
    return true;
  }

  #add(start: number, size: number, bytes: Uint8Array, name: number, end: number, doneBytes: number): void {
    const row = this.#count;
    const at = this.#nameStart[row]!;
    const length = end - name;
    if (row === this.#start.length) this.#growRows(this.#expected(row, doneBytes));
    if (at + length > this.#names.length) {
      const names = new Uint8Array(
        Math.max(at + length, Math.min(this.#expected(at, doneBytes), this.#totalBytes)),
      );
      names.set(this.#names.subarray(0, at));
      this.#names = names;
    }
    this.#start[row] = start;
    // Code of unknown size is found at its first byte.
    this.#end[row] = start + Math.max(1, size);
    for (let from = name, to = at; from < end; ) this.#names[to++] = bytes[from++]!;
    this.#nameStart[row + 1] = at + length;
    this.#count++;
  }

  /** How many there will be of what `count` were found of in so many bytes; a half more at least. */
  #expected(count: number, doneBytes: number): number {
    const whole = (count / Math.max(1, doneBytes)) * this.#totalBytes * SLACK;
    return Math.ceil(Math.max(count * 1.5, Math.min(whole, count * 4096))) + 16;
  }

  #growRows(capacity: number): void {
    const [start, end, nameStart] = [this.#start, this.#end, this.#nameStart];
    this.#start = new Float64Array(capacity);
    this.#start.set(start);
    this.#end = new Float64Array(capacity);
    this.#end.set(end);
    this.#nameStart = new Uint32Array(capacity + 1);
    this.#nameStart.set(nameStart);
  }
}

/**
 * Whether a name is one of V8 that ends without its place, `JS:*f /app/two`. It is at most so long: what
 * follows may be anything.
 */
function isUnfinishedName(name: Uint8Array): boolean {
  if (name.length > LONGEST_UNFINISHED) return false;
  const text = decodeUtf8(name);
  return NAME_WITH_PLACE.test(text) && !PLACE_AT_END.test(text);
}

/**
 * Reads hex numbers with or without `0x`; `at` is where the last one ended (where
 * it started, if there was none).
 */
class HexReader {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(from: number, end: number): number {
    const bytes = this.#bytes;
    const hasPrefix = bytes[from] === 0x30 && (bytes[from + 1]! | 0x20) === 0x78 && from + 2 < end;
    const first = hasPrefix ? from + 2 : from;
    let low = 0;
    let high = 0;
    let at = first;
    for (; at < end; at++) {
      const digit = HEX_VALUE[bytes[at]!]!;
      if (digit < 0) break;
      high = (high << 4) | (low >>> 28);
      low = (low << 4) | digit;
    }
    // More than 16 digits are no address; taken for no number at all.
    this.at = at > first && at - first <= 16 ? at : from;
    return high * TWO_32 + (low >>> 0);
  }
}
