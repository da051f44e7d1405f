import { type MemoryRange, usedCodeRanges } from './code-pages.ts';
import type { CodeSpaceLayout } from './code-space-layout.ts';
import { addressOf, field, HeapMismatch, type HeapReader, type Tagged } from './heap-reader.ts';
import type { V8Layout } from './v8-layout.ts';

/** A piece of code that V8 made. */
export interface CodeObject {
  /** Address of its first instruction, and the length of all. */
  start: number;
  size: number;
  kind: number;
  /** The first word of the object that holds it. */
  map: Tagged;
  /** The object `Code`. */
  view: DataView;
}

/** Code begins at multiples of this, or of twice as much. */
const CODE_ALIGNMENT = 32;
const CODE_BYTES = 96;
const WORD_BYTES = 8;
const TWO_32 = 2 ** 32;
/** Addresses of user space have no more bits in their upper half. */
const MOST_UPPER = 0x7fff;
const PIECE_BYTES = 1 << 18;
const MOST_PIECES_OF_CODE = 1 << 17;
const MOST_OTHER_WORDS = 1 << 16;
/** Where code may be changes rarely. */
const RANGES_EVERY_MS = 250;

/**
 * The code that V8 has made in a process, found in its memory: no list of it exists. A piece of
 * code is an object (`InstructionStream`), whose first word says so, and behind it stands its
 * `Code`, which must lead back to it:
 *
 *     page  │ header │ map, Code ┆ instructions │ free │ map, Code ┆ instructions ...
 */
export class CodeSpace {
  readonly #heap: HeapReader;
  readonly #pid: number;
  readonly #layout: V8Layout;
  readonly #space: CodeSpaceLayout;
  /** By address of the object: its `Code`. */
  readonly #known = new Map<number, Tagged>();
  /** First words that are the map of code, and that are not. */
  readonly #maps = new Set<number>();
  readonly #others = new Set<number>();
  readonly #piece = new Uint8Array(PIECE_BYTES);
  readonly #words = new Uint32Array(this.#piece.buffer);
  #ranges: MemoryRange[] = [];
  #rangesAt = Number.NEGATIVE_INFINITY;

  constructor(pid: number, heap: HeapReader, layout: V8Layout, space: CodeSpaceLayout) {
    this.#pid = pid;
    this.#heap = heap;
    this.#layout = layout;
    this.#space = space;
  }

  /** What came since the last look. */
  look(): CodeObject[] {
    const now = performance.now();
    if (now - this.#rangesAt >= RANGES_EVERY_MS) {
      this.#ranges = usedCodeRanges(this.#pid);
      this.#rangesAt = now;
    }
    const found: CodeObject[] = [];
    for (const { start, end } of this.#ranges)
      for (let at = start; at < end; at += PIECE_BYTES)
        this.#scan(at, Math.min(PIECE_BYTES, end - at), found);
    return found;
  }

  /** Whether code may be there: memory for code is taken in large pieces, and rarely. */
  has(address: number): boolean {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ranges[middle]!.start <= address) low = middle + 1;
      else high = middle;
    }
    return low > 0 && address < this.#ranges[low - 1]!.end;
  }

  #scan(start: number, size: number, found: CodeObject[]): void {
    if (!this.#heap.fill(start, this.#piece.subarray(0, size))) return;
    const words = this.#words;
    const { streamHeaderBytes } = this.#layout;
    const behind = (start + streamHeaderBytes) % CODE_ALIGNMENT;
    const first = (CODE_ALIGNMENT - behind) % CODE_ALIGNMENT;
    const step = CODE_ALIGNMENT / 4;
    for (let at = first / 4; at + 4 <= size / 4; at += step) {
      const low = words[at]!;
      const high = words[at + 1]!;
      // A pointer to an object, in user space.
      if ((low & 3) !== 1 || high > MOST_UPPER || !this.#isMap(high * TWO_32 + low)) continue;
      const codeHigh = words[at + 3]!;
      if (codeHigh > MOST_UPPER) continue;
      const stream = start + at * 4;
      const code = (BigInt(codeHigh) << 32n) | BigInt(words[at + 2]!);
      if (this.#known.get(stream) === code) continue;
      const piece = this.#read(stream, (BigInt(high) << 32n) | BigInt(low), code);
      if (piece === null) continue;
      if (this.#known.size >= MOST_PIECES_OF_CODE) this.#known.clear();
      this.#known.set(stream, code);
      found.push(piece);
    }
  }

  #isMap(word: number): boolean {
    if (this.#maps.has(word)) return true;
    if (this.#others.has(word)) return false;
    let isMap = false;
    try {
      isMap = this.#heap.typeOfMap(BigInt(word)) === this.#space.types.instructionStream;
    } catch (error) {
      if (!(error instanceof HeapMismatch)) throw error;
    }
    if (this.#others.size >= MOST_OTHER_WORDS) this.#others.clear();
    (isMap ? this.#maps : this.#others).add(word);
    return isMap;
  }

  /** Null: it is no code, or no longer. */
  #read(stream: number, map: Tagged, code: Tagged): CodeObject | null {
    const { code: at, kindMask } = this.#space;
    try {
      const view = this.#heap.object(code, CODE_BYTES, this.#layout.types.code);
      const start = stream + this.#layout.streamHeaderBytes;
      const leadsBack =
        addressOf(field(view, at.instructionStream)) === BigInt(stream) &&
        field(view, at.instructionStart) === BigInt(start);
      const size = view.getUint32(at.instructionSize, true);
      if (!leadsBack || size < WORD_BYTES) return null;
      return { start, size, kind: view.getUint32(at.flags, true) & kindMask, map, view };
    } catch (error) {
      if (error instanceof HeapMismatch) return null;
      throw error;
    }
  }
}
