/** Interned strings: each distinct string once, known by a small integer. Index 0 is the empty string. */
export class StringTable {
  readonly #indices = new Map<string, number>([['', 0]]);
  readonly #strings: string[] = [''];

  /** The index of `text`, adding it if it is new. */
  intern(text: string): number {
    let index = this.#indices.get(text);
    if (index === undefined) {
      index = this.#strings.length;
      this.#strings.push(text);
      this.#indices.set(text, index);
    }
    return index;
  }

  /** The index of `text`, or -1. Does not add. */
  find(text: string): number {
    return this.#indices.get(text) ?? -1;
  }

  /** The string with that index. */
  get(index: number): string {
    return this.#strings[index] ?? '';
  }

  /** How many strings there are. */
  get size(): number {
    return this.#strings.length;
  }

  /** All strings by index. Borrowed: do not change. */
  get all(): readonly string[] {
    return this.#strings;
  }
}
