import { type BlockCounts, countsFrom } from '../../code-cache/index.ts';
import type { NextInstruction } from '../next-instruction.ts';
import { countStep, emptyCounts, type SoftCounts } from '../soft-counts.ts';
import type { Landing, StepSink } from '../step-sink.ts';
import type { LoggedBlock } from './block-log.ts';

/** Adds up what blocks and steps execute, and tells a sink of it. */
export class FastCounts {
  readonly counts: SoftCounts = { ...emptyCounts(), iterations: null };
  /** Instructions of `counts` that were stepped. */
  stepped = 0;
  /** Null: they are only counted. */
  readonly #sink: StepSink | null;
  /** Translated code does not tell where the stack is. */
  readonly #landing = { pc: 0, stackPointer: 0 };

  constructor(sink: StepSink | null) {
    this.#sink = sink;
  }

  add(counts: BlockCounts, times: number): void {
    this.counts.instructions += counts.instructions * times;
    this.counts.branches += counts.branches * times;
    this.counts.conditional += counts.conditional * times;
    this.counts.calls += counts.calls * times;
  }

  /** Without `landing`, the thread has ended with `next`. */
  step(tid: number, next: NextInstruction, landing: Landing | null): void {
    if (!countStep(this.counts, next, landing?.pc ?? 0)) return;
    this.stepped++;
    this.#sink?.step(tid, next, landing);
  }

  /** Of a block, the first `done` instructions were executed, and the thread went on at `nextPc`. */
  blockDone(tid: number, { block, counts, steps }: LoggedBlock, done: number, nextPc: number): void {
    this.add(counts, 1);
    if (done < steps.length) this.add(countsFrom(block, done), -1);
    if (done === 0) return;
    this.#landing.pc = nextPc;
    this.#sink?.run(tid, steps, done, this.#landing);
  }
}
