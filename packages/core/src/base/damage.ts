/** What was wrong in some bytes: how often, and where first. JSON as it stands. */
export interface Damage {
  /** What is wrong, stable for programs, such as `data-past-end`. */
  code: string;
  /** How often. */
  count: number;
  /** Offset in the file (or stream) of the first occurrence, in bytes. */
  firstOffset: number;
  /** In a recording of several files: the one that `firstOffset` is in. */
  file?: string;
}

/** A file of several, and where it begins in all of them together. */
export interface DamagePart {
  /** The name of the file. */
  readonly name: string;
  /** Where it begins in what is read, in bytes. */
  readonly start: number;
}

/** Counts damage by code. Reading goes on after each; nothing here throws. */
export class DamageLog {
  readonly #byCode = new Map<string, Damage>();
  readonly #parts: readonly DamagePart[];

  /** `parts`: where offsets are of several files one after the other, ascending. */
  constructor(parts: readonly DamagePart[] = []) {
    this.#parts = parts;
  }

  /** Counts one damage of that code. `offset` is its place in the file, in bytes. */
  add(code: string, offset: number): void {
    const seen = this.#byCode.get(code);
    if (seen === undefined) this.#byCode.set(code, { code, count: 1, firstOffset: offset });
    else seen.count++;
  }

  /** How often that code was counted. */
  count(code: string): number {
    return this.#byCode.get(code)?.count ?? 0;
  }

  /** How much was counted, of all codes. */
  get total(): number {
    let total = 0;
    for (const damage of this.#byCode.values()) total += damage.count;
    return total;
  }

  /** In order of first appearance. */
  list(): Damage[] {
    return [...this.#byCode.values()].map((damage) => {
      const part = this.#parts.findLast(({ start }) => start <= damage.firstOffset);
      if (part === undefined) return { ...damage };
      return { ...damage, firstOffset: damage.firstOffset - part.start, file: part.name };
    });
  }
}
