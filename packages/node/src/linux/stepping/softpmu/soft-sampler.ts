import { KIND_CALL, KIND_CALL_INDIRECT, KIND_CONDITIONAL } from '@counterpoint/trace/instructions';
import { CallStack } from './call-stack.ts';
import type { LoggedBlocks } from './fast/logged-blocks.ts';
import type { SoftEventSampling, SoftKind } from './messages.ts';
import type { NextInstruction } from './next-instruction.ts';
import { processOf } from './process-of.ts';
import { RowWriter } from './rows.ts';
import { BRANCHES } from './soft-counts.ts';
import type { Landing, StepSink } from './step-sink.ts';

interface SampledThread {
  pid: number;
  calls: CallStack;
}

interface Countdown extends SoftEventSampling {
  /** Events until the next sample, over all threads. */
  left: number;
}

/** Makes a sample of every n-th event of all that is stepped. */
export class SoftSampler implements StepSink {
  readonly #events: Countdown[];
  readonly #followsCalls: boolean;
  /** Not only branches are events. */
  readonly #takesAll: boolean;
  readonly #threads = new Map<number, SampledThread>();
  readonly #rows: RowWriter;
  readonly #cpu: number;

  constructor(events: readonly SoftEventSampling[], cpu: number, write: (bytes: Uint8Array) => void) {
    this.#events = events.map((event) => ({ ...event, left: event.period }));
    this.#followsCalls = events.some(({ hasCallers }) => hasCallers);
    this.#takesAll = events.some(({ kind }) => kind === 'instructions');
    this.#cpu = cpu;
    this.#rows = new RowWriter(write);
  }

  step(tid: number, done: NextInstruction, landing: Landing | null): void {
    const events = this.#events;
    for (let event = 0; event < events.length; event++) {
      const countdown = events[event]!;
      if (!isEvent(countdown.kind, done, landing) || --countdown.left > 0) continue;
      countdown.left = countdown.period;
      this.#sample(tid, event, done, landing);
    }
    if (this.#followsCalls && landing !== null && BRANCHES.has(done.kind))
      this.#thread(tid).calls.step(done, landing.pc, landing.stackPointer);
  }

  run(tid: number, steps: readonly NextInstruction[], count: number, landing: Landing): void {
    if (!this.#takesAll) {
      this.step(tid, steps[count - 1]!, landing);
      return;
    }
    for (let index = 0; index < count; index++) {
      const pc = index + 1 < count ? steps[index + 1]!.pc : landing.pc;
      this.step(tid, steps[index]!, { ...landing, pc });
    }
  }

  blocks(tid: number, blocks: LoggedBlocks, ids: Int32Array, count: number): void {
    const landing = { pc: 0, stackPointer: 0 };
    for (let index = 0; index < count; index++) {
      const steps = blocks.stepsOf(ids[index]!);
      landing.pc = blocks.table.startOf(ids[index + 1]!);
      this.run(tid, steps, steps.length, landing);
    }
  }

  birth(tid: number, parent: number): void {
    if (this.#threads.has(tid)) return;
    const thread = this.#thread(tid);
    // A thread begins on a stack of its own, a process on a copy of its parent's.
    const from = this.#threads.get(parent);
    if (from !== undefined && from.pid !== thread.pid) thread.calls = new CallStack(from.calls);
  }

  exec(tid: number, formerTid: number): void {
    this.#threads.delete(formerTid);
    this.#threads.delete(tid);
  }

  end(tid: number): void {
    this.#threads.delete(tid);
  }

  flush(): void {
    this.#rows.flush();
  }

  finish(): void {
    this.#rows.flush();
  }

  #thread(tid: number): SampledThread {
    let thread = this.#threads.get(tid);
    if (thread === undefined) {
      thread = { pid: processOf(tid), calls: new CallStack() };
      this.#threads.set(tid, thread);
    }
    return thread;
  }

  #sample(tid: number, event: number, done: NextInstruction, landing: Landing | null): void {
    const { pid, calls } = this.#thread(tid);
    this.#rows.add({
      event,
      pid,
      tid,
      ip: done.pc,
      target: landing !== null && BRANCHES.has(done.kind) ? landing.pc : 0,
      timeNs: process.hrtime.bigint(),
      cpu: this.#cpu,
      callers: this.#events[event]!.hasCallers ? calls.callers : [],
    });
  }
}

function isEvent(kind: SoftKind, done: NextInstruction, landing: Landing | null): boolean {
  switch (kind) {
    case 'instructions':
      return true;
    case 'branches':
      return BRANCHES.has(done.kind);
    case 'cond':
      return done.kind === KIND_CONDITIONAL;
    case 'calls':
      return done.kind === KIND_CALL || done.kind === KIND_CALL_INDIRECT;
    case 'taken':
      return landing !== null && BRANCHES.has(done.kind) && isTaken(done, landing.pc);
  }
}

function isTaken(done: NextInstruction, pc: number): boolean {
  return done.kind !== KIND_CONDITIONAL || pc !== done.pc + done.length;
}
