import {
  type Block,
  type BlockCounts,
  countsFrom,
  type LogPlace,
  type TargetMemory,
} from '../../code-cache/index.ts';
import type { NextInstruction } from '../next-instruction.ts';

/*
 * Memory of the target below 2 GiB, for one thread:
 *
 *     0      cursor: the distance from the end to the next entry, negative; 0: it is full
 *     PAGE   entries of 4 bytes: numbers of blocks, in the order of their execution
 */
const ENTRIES = 4096;
const ENTRY_BYTES = 4;
/** It stays in a cache of the second level. */
const ENTRIES_BYTES = 1 << 19;
export const LOG_BYTES = ENTRIES + ENTRIES_BYTES;

/** A block as it is logged. */
export interface LoggedBlock {
  readonly block: Block;
  readonly counts: BlockCounts;
  readonly steps: readonly NextInstruction[];
}

/** Which blocks a thread has executed, in order. */
export class BlockLog {
  readonly base: number;
  readonly #memory: TargetMemory;
  readonly #tell: (logged: LoggedBlock, done: number, nextPc: number) => void;
  readonly #entries = new Int32Array(ENTRIES_BYTES / ENTRY_BYTES);
  #blocks: LoggedBlock[] = [];
  /** Bytes of entries that were read before. */
  #taken = 0;
  /** Read last: where it led to is not known yet. */
  #last: LoggedBlock | null = null;

  /** `base` is fresh memory of LOG_BYTES, or what a forked child has of its parent's. */
  constructor(
    base: number,
    memory: TargetMemory,
    tell: (logged: LoggedBlock, done: number, nextPc: number) => void,
    parent: BlockLog | null,
  ) {
    this.base = base;
    this.#memory = memory;
    this.#tell = tell;
    if (parent === null) this.#rewind();
    else this.#blocks = [...parent.#blocks];
  }

  /** For the block that is translated next. */
  get next(): LogPlace {
    return { cursor: this.base, end: this.base + LOG_BYTES, id: this.#blocks.length };
  }

  add(block: Block): void {
    this.#blocks.push({ block, counts: countsFrom(block, 0), steps: stepsOf(block) });
  }

  /** Tells of what was logged since the last time. Its thread may go on meanwhile. */
  take(): void {
    const used = this.#used();
    const count = Math.max(0, used - this.#taken) / ENTRY_BYTES;
    const entries = this.#entries.subarray(0, count);
    const bytes = new Uint8Array(entries.buffer, 0, entries.byteLength);
    if (count === 0 || this.#memory.read(this.base + ENTRIES + this.#taken, bytes) < bytes.length) return;
    this.#taken = used;
    let last = this.#last;
    for (let index = 0; index < count; index++) {
      const logged = this.#blocks[entries[index]!]!;
      if (last !== null) this.#tell(last, last.steps.length, logged.block.pc);
      last = logged;
    }
    this.#last = last;
  }

  /** The same, and the log is empty. Its thread is stopped. */
  drain(): void {
    this.take();
    this.#rewind();
  }

  /**
   * Its thread has left the translated code and goes on at `pc`. Of `block`, which it is in, only `done`
   * instructions were executed; null: it has executed all that is logged.
   */
  settle(block: Block | null, done: number, pc: number): void {
    // In the trap for a full log, the last block has not begun.
    const wasFull = this.#used() === ENTRIES_BYTES;
    this.drain();
    const last = this.#last;
    this.#last = null;
    if (last !== null && wasFull) {
      this.#tell(last, 0, pc);
      return;
    }
    if (block !== null && last?.block !== block)
      throw new Error(`the log of blocks ends elsewhere than its thread, at ${pc.toString(16)}`);
    if (last !== null) this.#tell(last, block === null ? last.steps.length : done, pc);
  }

  /** Numbers begin again. What was logged must have been drained. */
  forget(): void {
    this.#blocks = [];
  }

  #used(): number {
    const cursor = new Int32Array(1);
    const size = this.#memory.read(this.base, new Uint8Array(cursor.buffer));
    return size < ENTRY_BYTES ? 0 : ENTRIES_BYTES + cursor[0]!;
  }

  #rewind(): void {
    this.#taken = 0;
    this.#memory.write(this.base, new Uint8Array(Int32Array.of(-ENTRIES_BYTES, -1).buffer));
  }
}

function stepsOf(block: Block): NextInstruction[] {
  let pc = block.pc;
  return [...block.kinds].map((kind, index) => {
    const length = block.lengths[index]!;
    pc += length;
    return {
      pc: pc - length,
      length,
      kind,
      is32Bit: false,
      isRepeated: false,
      isSystemCall: false,
      isOldCall: false,
      isCpuid: false,
      isKnown: true,
    };
  });
}
