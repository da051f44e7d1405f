import type { MemoryRange } from './code-pages.ts';
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
  /** The object `Code`, and what leads to it. */
  view: DataView;
  code: Tagged;
  /** What it is told apart by from other code at its place: its first bytes. */
  stamp: number;
  stampBytes: number;
}

/** What changed since the look before. */
export interface CodeChanges {
  found: CodeObject[];
  /** No longer there, or another piece is there now. */
  gone: CodeObject[];
  /** False: its process has ended. */
  isThere: boolean;
}

/** Of a piece of code, with its header: these have the addresses of what it uses. */
const MOST_STAMP_BYTES = 2048;
const STAMP_SEED = 0x811c9dc5;
const STAMP_PRIME = 0x01000193;
/** Code begins at multiples of this, or of twice as much. */
const CODE_ALIGNMENT = 32;
const CODE_BYTES = 96;
const WORD_BYTES = 8;
const TWO_32 = 2 ** 32;
/** Addresses of user space have no more bits in their upper half. */
const MOST_UPPER = 0x7fff;
/** V8's pages: no code reaches over their end but that which begins a page of its own. */
const PIECE_BYTES = 1 << 18;
const MOST_PIECES_OF_CODE = 1 << 17;
const MOST_OTHER_WORDS = 1 << 16;
/** Where code may be changes rarely. */
const RANGES_EVERY_MS = 250;

interface Known {
  code: Tagged;
  piece: CodeObject;
  /** Number of the last look at which it was there. */
  look: number;
  /** Newer code is inside of it: it was collected, though it looks as it did. */
  isOverlapped: boolean;
}

/**
 * The code that V8 has made in a process, found in its memory: no list of it exists. A piece of
 * code is an object (`InstructionStream`), whose first word says so, and behind it stands its
 * `Code`, which must lead back to it:
 *
 *     page  │ header │ map, Code ┆ instructions │ free │ map, Code ┆ instructions ...
 */
export class CodeSpace {
  readonly #heap: HeapReader;
  readonly #usedRanges: () => MemoryRange[];
  readonly #layout: V8Layout;
  readonly #space: CodeSpaceLayout;
  /** By address of the object. */
  readonly #known = new Map<number, Known>();
  #looks = 0;
  /** First words that are the map of code, and that are not. */
  readonly #maps = new Set<number>();
  readonly #others = new Set<number>();
  readonly #piece = new Uint8Array(PIECE_BYTES);
  readonly #words = new Uint32Array(this.#piece.buffer);
  #ranges: MemoryRange[] = [];
  #rangesAt = Number.NEGATIVE_INFINITY;

  /** `usedRanges`: of the process's memory for code. */
  constructor(usedRanges: () => MemoryRange[], heap: HeapReader, layout: V8Layout, space: CodeSpaceLayout) {
    this.#usedRanges = usedRanges;
    this.#heap = heap;
    this.#layout = layout;
    this.#space = space;
  }

  look(): CodeChanges {
    const now = performance.now();
    if (now - this.#rangesAt >= RANGES_EVERY_MS) {
      this.#ranges = this.#usedRanges();
      this.#rangesAt = now;
    }
    this.#looks++;
    const changes: CodeChanges = { found: [], gone: [], isThere: false };
    let readable = -1;
    for (const { start, end } of this.#ranges)
      for (let at = start; at < end; ) {
        const next = Math.min(end, at - (at % PIECE_BYTES) + PIECE_BYTES);
        if (this.#scan(at, next - at, changes)) readable = at;
        at = next;
      }
    // Of a process that has ended nobody knows what was there.
    if (readable < 0 || !this.#heap.fill(readable, this.#piece.subarray(0, WORD_BYTES))) return changes;
    changes.isThere = true;
    for (const [stream, { piece, look, isOverlapped }] of this.#known)
      if (look !== this.#looks) {
        this.#known.delete(stream);
        if (!isOverlapped) changes.gone.push(piece);
      }
    if (changes.found.length > 0) this.#takeOverlapped(changes);
    return changes;
  }

  /**
   * New code may be inside of code that was collected, whose beginning is still as it was:
   *
   *     before    │ header │ first bytes │ ...                          │
   *     now       │ header │ first bytes │ ... │ header │ new code ... │
   */
  #takeOverlapped({ found, gone }: CodeChanges): void {
    const isNew = new Set(found);
    const streams = [...this.#known.keys()].sort((one, other) => one - other);
    // Of what was there before: the last one that is still alive. Of what is new: what reaches furthest.
    let [old, recent]: (Known | undefined)[] = [];
    const overlaps = (one: Known | undefined, stream: number) =>
      one !== undefined && stream < one.piece.start + one.piece.size;
    const bury = (one: Known) => {
      if (one.isOverlapped) return;
      one.isOverlapped = true;
      gone.push(one.piece);
    };
    for (const stream of streams) {
      const known = this.#known.get(stream)!;
      if (isNew.has(known.piece)) {
        if (overlaps(old, stream)) bury(old!);
        if (!overlaps(recent, known.piece.start + known.piece.size)) recent = known;
      } else {
        if (overlaps(recent, stream)) bury(known);
        if (!known.isOverlapped) old = known;
      }
    }
  }

  /** As it is at this moment; null: other code is there, or none. */
  again(piece: CodeObject): CodeObject | null {
    const stream = piece.start - this.#layout.streamHeaderBytes;
    if (this.#known.get(stream)?.isOverlapped === true) return null;
    const bytes = this.#piece.subarray(0, piece.stampBytes);
    if (!this.#heap.fill(stream, bytes) || this.#stamp(0, piece.stampBytes) !== piece.stamp) return null;
    const [codeLow, codeHigh] = [this.#words[2]!, this.#words[3]!];
    const now = this.#read(stream, piece.map, (BigInt(codeHigh) << 32n) | BigInt(codeLow));
    return now?.size === piece.size ? { ...piece, view: now.view } : null;
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

  /** False: it cannot be read. */
  #scan(start: number, size: number, { found, gone }: CodeChanges): boolean {
    if (!this.#heap.fill(start, this.#piece.subarray(0, size))) return false;
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
      const known = this.#known.get(stream);
      if (known?.code === code && this.#stamp(at, known.piece.stampBytes) === known.piece.stamp) {
        known.look = this.#looks;
        continue;
      }
      if (known === undefined && this.#known.size >= MOST_PIECES_OF_CODE) continue;
      const read = this.#read(stream, (BigInt(high) << 32n) | BigInt(low), code);
      if (read === null) continue;
      const stampBytes = Math.min(streamHeaderBytes + (read.size & ~3), MOST_STAMP_BYTES, size - 4 * at);
      const piece = { ...read, stamp: this.#stamp(at, stampBytes), stampBytes };
      if (known?.isOverlapped === false) gone.push(known.piece);
      this.#known.set(stream, { code, piece, look: this.#looks, isOverlapped: false });
      found.push(piece);
    }
    return true;
  }

  /** Of bytes that have just been read, from this word of them on. */
  #stamp(from: number, bytes: number): number {
    const words = this.#words;
    const end = from + bytes / 4;
    let stamp = STAMP_SEED;
    for (let at = from; at < end; at++) stamp = Math.imul(stamp ^ words[at]!, STAMP_PRIME);
    return stamp;
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
  #read(stream: number, map: Tagged, code: Tagged): Omit<CodeObject, 'stamp' | 'stampBytes'> | null {
    const { code: at, kindMask } = this.#space;
    try {
      const view = this.#heap.object(code, CODE_BYTES, this.#layout.types.code);
      const start = stream + this.#layout.streamHeaderBytes;
      const leadsBack =
        addressOf(field(view, at.instructionStream)) === BigInt(stream) &&
        field(view, at.instructionStart) === BigInt(start);
      const size = view.getUint32(at.instructionSize, true);
      if (!leadsBack || size < WORD_BYTES) return null;
      return { start, size, kind: view.getUint32(at.flags, true) & kindMask, map, view, code };
    } catch (error) {
      if (error instanceof HeapMismatch) return null;
      throw error;
    }
  }
}
