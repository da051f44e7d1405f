import { hiOf, loOf, TWO_32, toBigInt } from '../../base/index.ts';
import type { BranchRecord } from './branch-record.ts';

/** Words of 32 bits of one record: from, to, flags, time (two each, the low half first), cpu, tid. */
const WORDS = 10;
/** @internal Bytes of one record. */
export const BRANCH_RECORD_BYTES = /* @__PURE__ */ WORDS * 4;
/** @internal Half of a time that nobody knows. */
export const NO_TIME = 0xffff_ffff;

/** Branch records in the order they happened, 40 bytes each. */
export class BranchTable {
  /** How many there are. */
  length = 0;
  #words: Uint32Array<ArrayBuffer>;

  /** How many branches there is room for without growing. */
  constructor(capacity = 64) {
    this.#words = new Uint32Array(Math.max(1, capacity) * WORDS);
  }

  /** A table out of what `bytes()` gave, on a machine of the same byte order. What is cut off is left out. */
  static from(bytes: Uint8Array): BranchTable {
    const length = Math.floor(bytes.length / BRANCH_RECORD_BYTES);
    const table = new BranchTable(length);
    new Uint8Array(table.#words.buffer).set(bytes.subarray(0, length * BRANCH_RECORD_BYTES));
    table.length = length;
    return table;
  }

  /** Adds a record, and gives its row. Halves may be signed. */
  push(
    fromLo: number,
    fromHi: number,
    toLo: number,
    toHi: number,
    flagsLo: number,
    flagsHi: number,
    timeLo: number,
    timeHi: number,
    cpu: number,
    tid: number,
  ): number {
    const at = this.length * WORDS;
    if (at === this.#words.length) this.#grow();
    const words = this.#words;
    words[at] = fromLo;
    words[at + 1] = fromHi;
    words[at + 2] = toLo;
    words[at + 3] = toHi;
    words[at + 4] = flagsLo;
    words[at + 5] = flagsHi;
    words[at + 6] = timeLo;
    words[at + 7] = timeHi;
    words[at + 8] = cpu;
    words[at + 9] = tid;
    return this.length++;
  }

  /** Adds a record, and gives its row. */
  add({ from, to, flags, timeNs, cpu, tid }: BranchRecord): number {
    const timeLo = timeNs === null ? NO_TIME : loOf(timeNs);
    const timeHi = timeNs === null ? NO_TIME : hiOf(timeNs);
    return this.push(
      loOf(from),
      hiOf(from),
      loOf(to),
      hiOf(to),
      loOf(flags),
      hiOf(flags),
      timeLo,
      timeHi,
      cpu,
      tid,
    );
  }

  /** Lower half of where a branch was. */
  fromLo(row: number): number {
    return this.#words[row * WORDS]!;
  }

  /** Upper half of where a branch was. */
  fromHi(row: number): number {
    return this.#words[row * WORDS + 1]!;
  }

  /** Lower half of where it went. */
  toLo(row: number): number {
    return this.#words[row * WORDS + 2]!;
  }

  /** Upper half of where it went. */
  toHi(row: number): number {
    return this.#words[row * WORDS + 3]!;
  }

  /** All flags but the highest bit of the privilege. */
  flagsLo(row: number): number {
    return this.#words[row * WORDS + 4]!;
  }

  /** The highest bit of the privilege. */
  flagsHi(row: number): number {
    return this.#words[row * WORDS + 5]!;
  }

  /** In nanoseconds, as float64: exact below 2^53. -1 where nobody knows. */
  timeNs(row: number): number {
    const lo = this.#words[row * WORDS + 6]!;
    const hi = this.#words[row * WORDS + 7]!;
    return lo === NO_TIME && hi === NO_TIME ? -1 : hi * TWO_32 + lo;
  }

  /** Its CPU, or -1. */
  cpu(row: number): number {
    return this.#words[row * WORDS + 8]! | 0;
  }

  /** Its thread, or -1. */
  tid(row: number): number {
    return this.#words[row * WORDS + 9]! | 0;
  }

  /** One record as an object of its own. */
  at(row: number): BranchRecord {
    const words = this.#words;
    const word = (n: number) => toBigInt(words[row * WORDS + n]!, words[row * WORDS + n + 1]!);
    return {
      from: word(0),
      to: word(2),
      flags: word(4),
      timeNs: this.timeNs(row) < 0 ? null : word(6),
      cpu: this.cpu(row),
      tid: this.tid(row),
    };
  }

  /** All of them, as objects. */
  *records(): Generator<BranchRecord> {
    for (let row = 0; row < this.length; row++) yield this.at(row);
  }

  /** Their bytes in this machine's order, as a view of the memory: borrowed until the next record. */
  bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#words.buffer, 0, this.length * BRANCH_RECORD_BYTES);
  }

  /** Forget all; the memory stays. */
  clear(): void {
    this.length = 0;
  }

  #grow(): void {
    const bigger = new Uint32Array(this.#words.length * 2);
    bigger.set(this.#words);
    this.#words = bigger;
  }
}
