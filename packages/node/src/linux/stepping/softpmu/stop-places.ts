import { ptraceBreakAt } from '../../kernel/sys/index.ts';
import type { Registers } from './registers.ts';

/** By what threads that run freely stop at an address. `step`: by nothing, so all is stepped. */
export type StopWay = 'debug-register' | 'uprobe' | 'step';

/** A thread has come to its place. */
export interface Arrival {
  /** Where it was to stop, and its stack pointer there. */
  readonly pc: number;
  readonly stackPointer: number;
  /** The instruction there was executed. */
  readonly isBehind: boolean;
}

/** One place for each thread, where it stops by SIGTRAP while it runs freely. */
export interface StopPlaces {
  readonly way: StopWay;
  /** It stops at `address`; 0: nowhere. False: that cannot be had. */
  set(tid: number, address: number): boolean;
  /** It has stopped by a SIGTRAP of ours, with these registers; null: it was not at its place. */
  arrived(tid: number, registers: Registers): Arrival | null;
  /** A SIGTRAP of this `si_code` is made by such a place. */
  isOurs(code: number | null): boolean;
  /** What the program has at a place where its memory shows a breakpoint; null: it has none of ours. */
  hiddenByte(tid: number, address: number): number | null;
  /** It has another program now, or is gone, or is let go. */
  forget(tid: number): void;
}

/** `si_code` of a SIGTRAP (asm-generic/siginfo.h): of a debug register. */
const TRAP_HWBKPT = 4;

/** By a debug register of the CPU: the thread stops before the instruction, and its code stays as it is. */
export class RegisterPlaces implements StopPlaces {
  readonly way = 'debug-register';

  set(tid: number, address: number): boolean {
    return ptraceBreakAt(tid, address);
  }

  arrived(_tid: number, { pc, stackPointer }: Registers): Arrival {
    return { pc, stackPointer, isBehind: false };
  }

  isOurs(code: number | null): boolean {
    return code === TRAP_HWBKPT;
  }

  hiddenByte(): null {
    return null;
  }

  /** The kernel leaves a breakpoint where it is when nobody traces any more. */
  forget(tid: number): void {
    ptraceBreakAt(tid, 0);
  }
}

/** None: whoever steps compares each place by itself. */
export class SteppedPlaces implements StopPlaces {
  readonly way = 'step';

  set(): boolean {
    return true;
  }

  arrived(_tid: number, { pc, stackPointer }: Registers): Arrival {
    return { pc, stackPointer, isBehind: false };
  }

  isOurs(): boolean {
    return false;
  }

  hiddenByte(): null {
    return null;
  }

  forget(): void {
    // Nothing is set.
  }
}
