import type { Block, LogPlace, TargetMemory } from '../../code-cache/index.ts';
import { LoggedBlocks } from './logged-blocks.ts';

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

/** Is told of what a thread has executed. */
export interface LogReader {
  /** The first `count` of `ids`, each of which led to the next one; all are borrowed. */
  blocksDone(blocks: LoggedBlocks, ids: Int32Array, count: number): void;
  /** Of the block `id` the first `done` instructions; then the thread went on at `nextPc`. */
  blockLeft(blocks: LoggedBlocks, id: number, done: number, nextPc: number): void;
}

/** Which blocks a thread has executed, in order. */
export class BlockLog {
  readonly base: number;
  readonly #memory: TargetMemory;
  readonly #reader: LogReader;
  /** The first is the last one of the time before. */
  readonly #ids = new Int32Array(1 + ENTRIES_BYTES / ENTRY_BYTES);
  #blocks: LoggedBlocks;
  /** Bytes of entries that were read before. */
  #taken = 0;
  /** How many were read and not told yet: those from `#ids[1]` on. */
  #untold = 0;
  /** Told last: where it led to is not known yet. */
  #last: { blocks: LoggedBlocks; id: number } | null = null;

  /** `base` is fresh memory of LOG_BYTES, or what a forked child has of its parent's. */
  constructor(base: number, memory: TargetMemory, reader: LogReader, parent: BlockLog | null) {
    this.base = base;
    this.#memory = memory;
    this.#reader = reader;
    this.#blocks = new LoggedBlocks(parent === null ? null : parent.#blocks);
    if (parent === null) this.#rewind();
  }

  /** For the block that is translated next. */
  get next(): LogPlace {
    return { cursor: this.base, end: this.base + LOG_BYTES, id: this.#blocks.size };
  }

  add(block: Block): void {
    this.#blocks.add(block);
  }

  /** Tells of what was logged since the last time. Its thread may go on meanwhile. */
  take(): void {
    this.#read();
    this.tell();
  }

  /** The log is empty, and `tell` is to be called: its thread, which is stopped, can go on before. */
  drain(): void {
    this.#read();
    this.#rewind();
  }

  /** Tells of what was drained. */
  tell(): void {
    const count = this.#untold;
    if (count === 0) return;
    this.#untold = 0;
    const ids = this.#ids;
    const last = this.#last;
    const goesOn = last?.blocks === this.#blocks;
    if (goesOn) ids[0] = last.id;
    else if (last !== null) this.#leave(last, this.#blocks.table.startOf(ids[1]!));
    const first = goesOn ? 0 : 1;
    if (count > first) this.#reader.blocksDone(this.#blocks, ids.subarray(first, count + 1), count - first);
    this.#last = { blocks: this.#blocks, id: ids[count]! };
  }

  /**
   * Its thread has left the translated code and goes on at `pc`. Of `block`, which it is in, only `done`
   * instructions were executed; null: it has executed all that is logged.
   */
  settle(block: Block | null, done: number, pc: number): void {
    // In the trap for a full log, the last block has not begun.
    const wasFull = this.#used() === ENTRIES_BYTES;
    this.drain();
    this.tell();
    const last = this.#last;
    this.#last = null;
    if (last !== null && wasFull) return;
    if (block !== null && (last === null || last.blocks.blockOf(last.id) !== block))
      throw new Error(`the log of blocks ends elsewhere than its thread, at ${pc.toString(16)}`);
    if (last === null) return;
    if (block === null) this.#leave(last, pc);
    else this.#reader.blockLeft(last.blocks, last.id, done, pc);
  }

  /** Numbers begin again. */
  forget(): void {
    this.tell();
    this.#blocks = new LoggedBlocks();
  }

  /** It was executed to its end. */
  #leave({ blocks, id }: { blocks: LoggedBlocks; id: number }, pc: number): void {
    this.#reader.blockLeft(blocks, id, blocks.blockOf(id).kinds.length, pc);
  }

  #read(): void {
    this.tell();
    const used = this.#used();
    const count = Math.max(0, used - this.#taken) / ENTRY_BYTES;
    if (count === 0) return;
    const bytes = new Uint8Array(this.#ids.buffer, ENTRY_BYTES, count * ENTRY_BYTES);
    if (this.#memory.read(this.base + ENTRIES + this.#taken, bytes) < bytes.length) return;
    this.#taken = used;
    this.#untold = count;
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
