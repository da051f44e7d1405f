import type { NextInstruction } from './next-instruction.ts';
import type { Registers } from './registers.ts';

/** Is told what `Stepper` sees, in the order in which it happens. */
export interface StepSink {
  /**
   * `instruction` was completed. `registers` are those behind it, borrowed; null where the thread ended
   * with it, or lives on in another program.
   */
  step(tid: number, instruction: NextInstruction, registers: Registers | null): void;
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
    step: (tid, instruction, registers) => each((sink) => sink.step(tid, instruction, registers)),
    birth: (tid, parent) => each((sink) => sink.birth(tid, parent)),
    exec: (tid, formerTid) => each((sink) => sink.exec(tid, formerTid)),
    end: (tid) => each((sink) => sink.end(tid)),
    flush: () => each((sink) => sink.flush()),
    finish: () => each((sink) => sink.finish()),
  };
}
