import type { Machine } from '@counterpoint/core/machine';
import { CallStack } from './call-stack.ts';
import { LastBranches } from './last-branches.ts';

/** A thread as the trace knows it. */
export interface TracedThread {
  readonly pid: number;
  readonly tid: number;
  readonly calls: CallStack;
  /** Null where nobody asks for last branches. */
  readonly branches: LastBranches | null;
}

export class TracedThreads {
  readonly #threads = new Map<string, TracedThread>();
  readonly #machine: Machine;
  readonly #lastBranches: number;

  constructor(machine: Machine, lastBranches: number) {
    this.#machine = machine;
    this.#lastBranches = lastBranches;
  }

  /** `pid` -1: whichever process the thread is of. Each CPU has an idle thread of its own. */
  find(pid: number, tid: number, cpu: number): TracedThread {
    const process = pid >= 0 ? pid : this.#processOf(tid);
    const key = tid === 0 ? `cpu ${cpu}` : `${tid} ${process}`;
    let thread = this.#threads.get(key);
    if (thread === undefined) {
      const branches = this.#lastBranches > 0 ? new LastBranches(this.#lastBranches) : null;
      thread = { pid: process, tid, calls: new CallStack(), branches };
      this.#threads.set(key, thread);
    }
    return thread;
  }

  forget(pid: number, tid: number): void {
    this.#threads.delete(`${tid} ${pid}`);
  }

  #processOf(tid: number): number {
    return tid < 0 ? -1 : (this.#machine.findThread(tid)?.process.pid ?? tid);
  }
}
