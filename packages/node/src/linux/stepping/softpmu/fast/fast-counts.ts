import { type BlockCounts, countsFrom } from '../../code-cache/index.ts';
import type { NextInstruction } from '../next-instruction.ts';
import { countStep, emptyCounts, type SoftCounts } from '../soft-counts.ts';
import type { Landing, StepSink } from '../step-sink.ts';
import type { LoggedBlocks } from './logged-blocks.ts';

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

  /** The first `count` of `ids` were executed, and each led to the next one. */
  blocksDone(tid: number, blocks: LoggedBlocks, ids: Int32Array, count: number): void {
    blocks.addTo(this.counts, ids, count);
    this.#sink?.blocks(tid, blocks, ids, count);
  }

  /** Of a block, the first `done` instructions were executed, and the thread went on at `nextPc`. */
  blockLeft(tid: number, blocks: LoggedBlocks, id: number, done: number, nextPc: number): void {
    const block = blocks.blockOf(id);
    this.add(countsFrom(block, 0), 1);
    if (done < block.kinds.length) this.add(countsFrom(block, done), -1);
    if (done === 0) return;
    this.#landing.pc = nextPc;
    this.#sink?.run(tid, blocks.stepsOf(id), done, this.#landing);
  }
}
