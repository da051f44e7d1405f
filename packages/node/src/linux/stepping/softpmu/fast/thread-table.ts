import type { FastCounts } from './fast-counts.ts';
import { newThread, SharedMemory, type TracedThread, threadGroup } from './traced-thread.ts';
import { TranslatedSpace } from './translated-space.ts';

/** The threads that are traced, and what is translated for them. */
export class ThreadTable {
  readonly #threads = new Map<number, TracedThread>();
  readonly #counts: FastCounts;
  /** Threads log which blocks they execute; else these are only counted. */
  readonly #areLogged: boolean;

  constructor(counts: FastCounts, areLogged: boolean) {
    this.#counts = counts;
    this.#areLogged = areLogged;
  }

  get size(): number {
    return this.#threads.size;
  }

  get(tid: number): TracedThread | undefined {
    return this.#threads.get(tid);
  }

  has(tid: number): boolean {
    return this.#threads.has(tid);
  }

  all(): Iterable<TracedThread> {
    return this.#threads.values();
  }

  /** Without `memory`, it is that of its process. */
  add(tid: number, memory?: SharedMemory): TracedThread {
    const thread = newThread(tid, memory ?? this.#memoryOf(tid));
    this.#threads.set(tid, thread);
    return thread;
  }

  #memoryOf(tid: number): SharedMemory {
    const group = threadGroup(tid);
    for (const other of this.#threads.values()) if (threadGroup(other.tid) === group) return other.memory;
    return new SharedMemory();
  }

  /** What is translated for `thread`, or was for one that has ended. */
  spaceFor(thread: TracedThread): TranslatedSpace {
    if (thread.space !== null) return thread.space;
    const idle = thread.memory.idle.pop();
    idle?.handTo(thread.tid);
    thread.space = idle ?? new TranslatedSpace(thread.tid, this.#counts, this.#areLogged);
    return thread.space;
  }

  /** Add what was counted in `memory` until now, by all of its threads. */
  takeAll(memory: SharedMemory): void {
    for (const { space, memory: its } of this.#threads.values()) if (its === memory) space?.take();
  }

  forget(tid: number): void {
    const thread = this.#threads.get(tid);
    this.#threads.delete(tid);
    if (thread !== undefined) this.dropSpace(thread);
  }

  /** Its memory is not its memory any more. */
  dropSpace(thread: TracedThread): void {
    thread.space?.close();
    thread.space = null;
    for (const other of this.#threads.values())
      if (other !== thread && other.memory === thread.memory) return;
    for (const idle of thread.memory.idle.splice(0)) idle.close();
  }
}
