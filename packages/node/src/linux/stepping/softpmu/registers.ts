/** struct user_regs_struct of x86-64 (sys/user.h), in 64-bit words. */
const WORDS = 27;
const RAX = 10;
const RDX = 12;
const RSI = 13;
const RDI = 14;
const ORIG_RAX = 15;
const RIP = 16;
const CS = 17;
const RSP = 19;
/** The code segment of 64-bit user code (asm/segment.h, __USER_CS). */
const USER_CS_64 = 0x33;
const HIGH = 2 ** 32;

/**
 * The kernel's own results of a system call that it will begin again: ERESTARTSYS to ERESTART_RESTARTBLOCK.
 */
const RESTARTED: ReadonlySet<number> = /* @__PURE__ */ new Set([-512, -513, -514, -516]);
/** Bytes of `syscall`, `sysenter` and `int 0x80`: so far the kernel goes back. */
const SYSTEM_CALL_BYTES = 2;

/** The registers of a stopped thread, as halves of 32 bits. */
export class Registers {
  readonly words = new Uint32Array(2 * WORDS);

  /** Where it stands. Exact below 2^53; only the vsyscall page is above. */
  get pc(): number {
    return this.#word(RIP);
  }

  /** The same but for the place. */
  at(pc: number): Registers {
    const copy = new Registers();
    copy.words.set(this.words);
    copy.words[2 * RIP] = pc % HIGH;
    copy.words[2 * RIP + 1] = Math.floor(pc / HIGH);
    return copy;
  }

  get stackPointer(): number {
    return this.#word(RSP);
  }

  get is32Bit(): boolean {
    return this.words[2 * CS] !== USER_CS_64;
  }

  /** The number of the system call that it is about to make, also again. */
  get callNumber(): number {
    return this.words[2 * (this.nextPc === this.pc ? RAX : ORIG_RAX)]! | 0;
  }

  /** What the system call gave that has just returned. */
  get callResult(): number {
    return this.words[2 * RAX]! | 0;
  }

  /** The first three arguments of a system call of 64-bit code. */
  get callArguments(): [number, number, number] {
    return [this.#word(RDI), this.#word(RSI), this.#word(RDX)];
  }

  #word(index: number): number {
    return this.words[2 * index]! + this.words[2 * index + 1]! * HIGH;
  }

  /** Where it goes on: behind an interrupted system call that begins again, that is the call. */
  get nextPc(): number {
    const isInCall = (this.words[2 * ORIG_RAX + 1]! & 0x8000_0000) === 0;
    const result = this.words[2 * RAX]! | 0;
    return isInCall && RESTARTED.has(result) ? this.pc - SYSTEM_CALL_BYTES : this.pc;
  }
}
