import type { LoggedBlocks } from './fast/logged-blocks.ts';
import type { NextInstruction } from './next-instruction.ts';

/** Where an instruction led. */
export interface Landing {
  readonly pc: number;
  readonly stackPointer: number;
}

/** Is told what a stepper sees, in the order in which it happens. */
export interface StepSink {
  /**
   * `instruction` was completed. `landing` is borrowed; null where the thread ended with it, or lives on in
   * another program.
   */
  step(tid: number, instruction: NextInstruction, landing: Landing | null): void;
  /** The first `count` of `steps` were completed in a row; all but the last led to the next one. */
  run(tid: number, steps: readonly NextInstruction[], count: number, landing: Landing): void;
  /**
   * Of `blocks` the first `count` of `ids` were completed, and each led to the next one; all are borrowed.
   */
  blocks(tid: number, blocks: LoggedBlocks, ids: Int32Array, count: number): void;
  /** `parent` has made this thread or process. It may have been stepped before this is known. */
  birth(tid: number, parent: number): void;
  /** The process `tid` executes another program now. The thread that asked for it was `formerTid`. */
  exec(tid: number, formerTid: number): void;
  /** The number may come again, and is another thread then. */
  end(tid: number): void;
  /** From time to time: what has waited long enough goes out. */
  flush(): void;
  /** Nothing is stepped any more: all goes out. */
  finish(): void;
}

/** Tells several. */
export function stepSinks(sinks: readonly StepSink[]): StepSink | null {
  if (sinks.length < 2) return sinks[0] ?? null;
  const each = (tell: (sink: StepSink) => void) => sinks.forEach(tell);
  return {
    step: (tid, instruction, landing) => each((sink) => sink.step(tid, instruction, landing)),
    run: (tid, steps, count, landing) => each((sink) => sink.run(tid, steps, count, landing)),
    blocks: (tid, blocks, ids, count) => each((sink) => sink.blocks(tid, blocks, ids, count)),
    birth: (tid, parent) => each((sink) => sink.birth(tid, parent)),
    exec: (tid, formerTid) => each((sink) => sink.exec(tid, formerTid)),
    end: (tid) => each((sink) => sink.end(tid)),
    flush: () => each((sink) => sink.flush()),
    finish: () => each((sink) => sink.finish()),
  };
}
