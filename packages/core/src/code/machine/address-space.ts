/** What a stretch of memory holds. */
export interface Mapping {
  /** Signed float64 addresses, `[start, end)`. */
  start: number;
  /** The first address behind it. */
  end: number;
  /** Offset in the file of the byte at `start`. */
  pageOffset: number;
  /** The file, or a name such as `[heap]`. */
  path: string;
  /** Hex, or empty where the record does not say. */
  buildId: string;
  /** Process that made the mapping; -1 for the kernel. */
  pid: number;
  /**
   * Set for code that has a name of its own (BPF programs, trampolines): the whole mapping is this function.
   */
  symbol: string | null;
  /** For the user of the machine to keep what it knows of the binary; -1 at first. Shared by cut parts. */
  binary: number;
}

/** Mappings of one address space, sorted, not overlapping. */
export class AddressSpace {
  #mappings: Mapping[] = [];
  #last: Mapping | null = null;
  /** Changes with every change of the mappings. */
  generation = 0;

  /** How many mappings there are. */
  get size(): number {
    return this.#mappings.length;
  }

  /** The mapping that covers `address`, or null. */
  find(address: number): Mapping | null {
    const last = this.#last;
    if (last !== null && address >= last.start && address < last.end) return last;
    const index = this.#firstEndingAfter(address);
    const found = this.#mappings[index];
    if (found === undefined || address < found.start) return null;
    this.#last = found;
    return found;
  }

  /** The last mapping that starts at or below `address`, whether it reaches that far or not. */
  findBelow(address: number): Mapping | null {
    const found = this.find(address);
    return found ?? this.#mappings[this.#firstEndingAfter(address) - 1] ?? null;
  }

  /**
   * Add a mapping; it replaces what it covers:
   *
   *   before  [aaaaaaaaaaaa][bbbb]
   *   add          [xxxxxxxxxx]
   *   after   [aaa][xxxxxxxxxx][b]   the rest of b starts further into its file
   */
  add(mapping: Mapping): void {
    if (!(mapping.end > mapping.start)) return;
    this.generation++;
    this.#last = null;
    const from = this.#firstEndingAfter(mapping.start);
    let to = from;
    const kept: Mapping[] = [];
    while (to < this.#mappings.length && this.#mappings[to]!.start < mapping.end) {
      const old = this.#mappings[to]!;
      if (old.start < mapping.start) kept.push({ ...old, end: mapping.start });
      if (old.end > mapping.end) {
        kept.push({ ...old, start: mapping.end, pageOffset: old.pageOffset + (mapping.end - old.start) });
      }
      to++;
    }
    const after = kept.findIndex((part) => part.start > mapping.start);
    kept.splice(after < 0 ? kept.length : after, 0, mapping);
    this.#mappings.splice(from, to - from, ...kept);
  }

  /** Forget the mapping that starts here (a kernel symbol that was unregistered). */
  remove(start: number): void {
    const index = this.#mappings.findIndex((mapping) => mapping.start === start);
    if (index < 0) return;
    this.generation++;
    this.#last = null;
    this.#mappings.splice(index, 1);
  }

  /** Removes all mappings. */
  clear(): void {
    this.generation++;
    this.#last = null;
    this.#mappings = [];
  }

  /** What fork does: the child starts with the parent's mappings. */
  copyFrom(other: AddressSpace): void {
    this.generation++;
    this.#last = null;
    this.#mappings = [...other.#mappings];
  }

  /** All mappings, by address. */
  all(): readonly Mapping[] {
    return this.#mappings;
  }

  /** Index of the first mapping that ends after `address`. */
  #firstEndingAfter(address: number): number {
    let low = 0;
    let high = this.#mappings.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#mappings[middle]!.end <= address) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
