import { ptraceRegisters, ptraceSetRegisters } from '../../../kernel/sys/index.ts';
import { Registers } from '../registers.ts';

/** Places in struct user_regs_struct of x86-64 (sys/user.h), in 64-bit words. */
export const R10 = 7;
export const R9 = 8;
export const R8 = 9;
export const RAX = 10;
export const RCX = 11;
export const RDX = 12;
export const RSI = 13;
export const RDI = 14;
export const ORIG_RAX = 15;
const RIP = 16;
const HIGH = 2 ** 32;
const RESTART_BLOCK = -516;
const CALL_RESTART = 219;

/** Registers of a stopped thread that can be changed. */
export class TargetRegisters extends Registers {
  read(tid: number): boolean {
    return ptraceRegisters(tid, this.words);
  }

  write(tid: number): boolean {
    return ptraceSetRegisters(tid, this.words);
  }

  /** Exact below 2^53. */
  get(register: number): number {
    return this.words[2 * register]! + this.words[2 * register + 1]! * HIGH;
  }

  set(register: number, value: number): void {
    this.words[2 * register] = value % HIGH;
    this.words[2 * register + 1] = Math.floor(value / HIGH);
  }

  setPc(pc: number): void {
    this.set(RIP, pc);
  }

  /** An error number, as system calls return it. */
  get isError(): boolean {
    return this.words[2 * RAX + 1] === 0xffff_ffff && this.words[2 * RAX]! >= 0xffff_f001;
  }

  /**
   * What the kernel does before an interrupted system call begins again, done here: it
   * would go back from any place.
   */
  restartCall(): void {
    const { nextPc } = this;
    if (nextPc === this.pc) return;
    const isBlock = (this.words[2 * RAX]! | 0) === RESTART_BLOCK;
    this.set(RAX, isBlock ? CALL_RESTART : this.get(ORIG_RAX));
    this.setPc(nextPc);
    this.leaveCall();
  }

  /** The kernel sees no system call that it could begin again. */
  leaveCall(): void {
    this.words[2 * ORIG_RAX] = 0xffff_ffff;
    this.words[2 * ORIG_RAX + 1] = 0xffff_ffff;
  }
}
