import { toBigInt } from '../base/index.ts';
import type { BranchEntry } from '../records/index.ts';
import type { RecordBuffer } from './record-buffer.ts';

/** struct perf_branch_entry: bits of its third word. */
const ENTRY_ABORT = 1 << 3;
const ENTRY_IN_TRANSACTION = 1 << 2;

/** The newest branches of a thread: a ring, as the LBR of a CPU. */
export class LastBranches {
  private readonly words: Int32Array;
  private readonly size: number;
  private next = 0;
  private count = 0;

  constructor(size: number) {
    this.size = size;
    this.words = new Int32Array(size * 5);
  }

  add(
    fromLo: number,
    fromHi: number,
    toLo: number,
    toHi: number,
    isAbort: boolean,
    isInTransaction: boolean,
  ): void {
    const { words } = this;
    const at = this.next * 5;
    words[at] = fromLo;
    words[at + 1] = fromHi;
    words[at + 2] = toLo;
    words[at + 3] = toHi;
    words[at + 4] = (isAbort ? ENTRY_ABORT : 0) | (isInTransaction ? ENTRY_IN_TRANSACTION : 0);
    this.next = this.next + 1 === this.size ? 0 : this.next + 1;
    if (this.count < this.size) this.count++;
  }

  clear(): void {
    this.count = 0;
  }

  /** The newest first. */
  entries(): BranchEntry[] {
    const { words, count, size } = this;
    return Array.from({ length: count }, (_, n): BranchEntry => {
      const at = ((this.next - 1 - n + size) % size) * 5;
      return {
        from: toBigInt(words[at]! >>> 0, words[at + 1]! >>> 0),
        to: toBigInt(words[at + 2]! >>> 0, words[at + 3]! >>> 0),
        flags: BigInt(words[at + 4]!),
      };
    });
  }

  /** Their number, then each from, to and flags; the newest first. */
  write(buffer: RecordBuffer): void {
    const { words, count, size } = this;
    buffer.pair(count, 0);
    for (let n = 1; n <= count; n++) {
      const at = ((this.next - n + size) % size) * 5;
      buffer.pair(words[at]!, words[at + 1]!);
      buffer.pair(words[at + 2]!, words[at + 3]!);
      buffer.pair(words[at + 4]!, 0);
    }
  }
}
