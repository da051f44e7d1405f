import type { CodeSpaceLayout } from './code-space-layout.ts';
import {
  addressOf,
  field,
  HeapMismatch,
  type HeapReader,
  isObject,
  smi,
  type Tagged,
} from './heap-reader.ts';
import type { V8Layout } from './v8-layout.ts';

/** Of V8's pages: each begins at a multiple, with a header. */
const PAGE_BYTES = 1 << 18;
const HEADER_WORDS = 32;
/** An isolate has its roots before its heap, no further away, and its list of scripts is one of them. */
const ROOTS_BEFORE_HEAP = 1 << 17;
const ROOTS_STEP_BYTES = 1 << 12;
const LEAST_ROOTS_BYTES = 1 << 14;
const WORD = 8;
const USER_SPACE_END = 1n << 47n;
const MOST_ROOTS = 1 << 11;
/** Words that are looked at for a list, of all that may be a heap: a process needs some thousands. */
const MOST_TESTS = 1 << 18;
/** Of which it is kept whose they are. */
const MOST_PAGES = 1 << 16;
const LIST_LENGTH = 16;
const LIST_DATA = 24;
const LIST_HEAD_BYTES = LIST_DATA + 2 * WORD;
const MOST_SCRIPTS = 1 << 17;
const WEAK_TAG = 3n;

/** How a page's header leads to the heap: the row in it, and the row in what that leads to. */
interface PathToHeap {
  row: number;
  inner: number | null;
}

/**
 * Where it was found in V8 11, 12 and 13: tried first, because each other place costs a
 * read of the memory before it.
 */
const USUAL_PATHS: readonly PathToHeap[] = [
  { row: 2, inner: null },
  { row: 3, inner: null },
  { row: 1, inner: 8 },
];

/**
 * The lists of all scripts, one for each isolate: the main thread has one, and each worker. Nobody
 * exports where they are. A page of code says to which heap it belongs, and the roots of an
 * isolate stand before its heap:
 *
 *     page header ─(metadata)─ heap        roots ... map of code ... scripts ... heap
 *
 * What is found is a list of scripts by its type and by that of what is in it.
 */
export class ScriptLists {
  readonly #heap: HeapReader;
  readonly #types: V8Layout['types'];
  readonly #space: CodeSpaceLayout;
  #path: PathToHeap | null = null;
  #tests = 0;
  /** By page: 0, or the heap. */
  readonly #heaps = new Map<number, bigint>();
  /** By heap: where the root is that leads to the list. */
  readonly #roots = new Map<bigint, bigint | null>();

  constructor(heap: HeapReader, layout: V8Layout, space: CodeSpaceLayout) {
    this.#heap = heap;
    this.#types = layout.types;
    this.#space = space;
  }

  /** Whether it is known what the page of this code says. */
  hasPage(stream: number): boolean {
    return this.#heaps.has(stream - (stream % PAGE_BYTES));
  }

  /** Code of an isolate is here: `map` is its first word. */
  add(stream: number, map: Tagged): void {
    const page = stream - (stream % PAGE_BYTES);
    if (this.#heaps.has(page)) return;
    if (this.#heaps.size >= MOST_PAGES) this.#heaps.clear();
    try {
      // Roots lead to many objects that lie near each other.
      this.#heaps.set(
        page,
        this.#heap.inBlocks(() => this.#heapOf(page, map)),
      );
    } catch (error) {
      if (!(error instanceof HeapMismatch)) throw error;
      this.#heaps.set(page, 0n);
    }
  }

  /**
   * The heap that an object is in; null: nobody knows. The object's first word must be one of the roots, as
   * those of bytecode arrays are.
   */
  heapOf(object: number): bigint | null {
    const address = object - (object & 3);
    const page = address - (address % PAGE_BYTES);
    if (!this.#heaps.has(page)) {
      try {
        this.add(address, field(this.#heap.bytes(BigInt(address), WORD), 0));
      } catch (error) {
        if (!(error instanceof HeapMismatch)) throw error;
      }
    }
    return this.#heaps.get(page) || null;
  }

  /** All that were found. */
  *heaps(): Generator<bigint> {
    for (const [heap, root] of this.#roots) if (root !== null) yield heap;
  }

  /** How many scripts each isolate has: a cheap sign that others came. */
  counts(): string {
    const counts = [...this.#roots.values()].map((root) => {
      try {
        return root === null ? 0 : this.#listAt(root).length;
      } catch (error) {
        if (!(error instanceof HeapMismatch)) throw error;
        return 0;
      }
    });
    return counts.join(' ');
  }

  /** Scripts of all isolates; what cannot be read is left out. */
  *scripts(): Generator<Tagged> {
    for (const root of this.#roots.values()) {
      if (root === null) continue;
      try {
        yield* this.#scriptsAt(root);
      } catch (error) {
        // A worker has ended.
        if (!(error instanceof HeapMismatch)) throw error;
      }
    }
  }

  #listAt(root: bigint): { list: Tagged; length: number } {
    const list = field(this.#heap.bytes(root, WORD), 0);
    const head = this.#heap.object(list, LIST_HEAD_BYTES, this.#space.types.weakArrayList);
    const length = smi(field(head, LIST_LENGTH)) ?? 0;
    if (length < 0 || length > MOST_SCRIPTS) throw new HeapMismatch(`${length} scripts`);
    return { list, length };
  }

  #scriptsAt(root: bigint): Tagged[] {
    const { list, length } = this.#listAt(root);
    const view = this.#heap.bytes(addressOf(list) + BigInt(LIST_DATA), length * WORD);
    const scripts: Tagged[] = [];
    for (let row = 0; row < length; row++) {
      const script = field(view, row * WORD);
      if (isWeak(script)) scripts.push(script);
    }
    return scripts;
  }

  #heapOf(page: number, map: Tagged): bigint {
    const header = this.#words(BigInt(page), HEADER_WORDS);
    if (this.#path !== null) {
      const { row, inner } = this.#path;
      const outer = header[row]!;
      const heap = inner === null ? outer : this.#words(outer, HEADER_WORDS)[inner]!;
      return this.#isHeap(heap, map) ? heap : 0n;
    }
    for (const { path, heap } of this.#candidates(header)) {
      if (!this.#isHeap(heap, map)) continue;
      this.#path = path;
      return heap;
    }
    return 0n;
  }

  /** Whatever the header and what it leads to may mean by a heap. */
  *#candidates(header: BigUint64Array): Generator<{ path: PathToHeap; heap: bigint }> {
    for (const path of USUAL_PATHS) {
      const outer = header[path.row]!;
      const heap = path.inner === null ? outer : this.#tryWords(outer)?.[path.inner];
      if (heap !== undefined && isAligned(heap)) yield { path, heap };
    }
    const pointers = [...header.entries()].filter(([, word]) => isAligned(word));
    for (const [row, heap] of pointers) yield { path: { row, inner: null }, heap };
    for (const [row, outer] of pointers) {
      const words = this.#tryWords(outer) ?? new BigUint64Array(0);
      for (const [inner, heap] of words.entries()) if (isAligned(heap)) yield { path: { row, inner }, heap };
    }
  }

  /** As many as a header has; null: they are not there. */
  #tryWords(address: bigint): BigUint64Array | null {
    try {
      return isAligned(address) ? this.#words(address, HEADER_WORDS) : null;
    } catch (error) {
      if (error instanceof HeapMismatch) return null;
      throw error;
    }
  }

  /** Whether the roots of an isolate are before it, and among them a list of scripts. */
  #isHeap(heap: bigint, map: Tagged): boolean {
    if (!isAligned(heap)) return false;
    const known = this.#roots.get(heap);
    if (known !== undefined) return known !== null;
    const root = this.#findRoot(heap, map);
    this.#roots.set(heap, root);
    return root !== null;
  }

  #findRoot(heap: bigint, map: Tagged): bigint | null {
    const words = this.#before(heap);
    const start = heap - BigInt(words.byteLength);
    let looked = 0;
    for (let first = words.indexOf(map); first >= 0; first = words.indexOf(map, first + 1)) {
      const end = Math.min(words.length, first + MOST_ROOTS);
      for (let row = Math.max(first, looked); row < end; row++) {
        if (this.#tests >= MOST_TESTS) return null;
        if (this.#isScriptList(words[row]!)) return start + BigInt(row * WORD);
      }
      looked = end;
    }
    return null;
  }

  /** Less of it where other memory is before it. */
  #before(heap: bigint): BigUint64Array {
    for (let size = ROOTS_BEFORE_HEAP; size >= LEAST_ROOTS_BYTES; size -= ROOTS_STEP_BYTES) {
      try {
        return this.#words(heap - BigInt(size), size / WORD);
      } catch (error) {
        if (!(error instanceof HeapMismatch)) throw error;
      }
    }
    return new BigUint64Array(0);
  }

  #isScriptList(word: Tagged): boolean {
    if (!isObject(word) || word >= USER_SPACE_END) return false;
    this.#tests++;
    try {
      if (!this.#heap.isOfType(word, this.#space.types.weakArrayList)) return false;
      const scripts = this.#heap.bytes(addressOf(word), LIST_HEAD_BYTES);
      const length = smi(field(scripts, LIST_LENGTH)) ?? 0;
      const [first, second] = [field(scripts, LIST_DATA), field(scripts, LIST_DATA + WORD)];
      return [first, second].some((one, row) => row < length && isWeak(one) && this.#isScript(one));
    } catch (error) {
      if (error instanceof HeapMismatch) return false;
      throw error;
    }
  }

  #isScript(tagged: Tagged): boolean {
    return this.#heap.isOfType(tagged, this.#types.script);
  }

  #words(address: bigint, count: number): BigUint64Array {
    return new BigUint64Array(this.#heap.bytes(address, count * WORD).buffer);
  }
}

function isWeak(tagged: Tagged): boolean {
  // Cleared ones have no address.
  return (tagged & WEAK_TAG) === WEAK_TAG && tagged >> 32n !== 0n;
}

function isAligned(word: bigint): boolean {
  return (word & 7n) === 0n && word > 0xffffn && word < USER_SPACE_END;
}
