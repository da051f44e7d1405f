import { CodeBuffer, type MachineCode } from './code-buffer.ts';

/** Number of a general register: x0 to x30. */
export type Arm64Register = number;

const CONDITIONS = { eq: 0x0, ne: 0x1, hs: 0x2, lo: 0x3, hi: 0x8, gt: 0xc } as const;
export type Arm64Condition = keyof typeof CONDITIONS;

const LINK = 30;
const ZERO = 31;
/** The same number, where an address is meant. */
const STACK = 31;

/** MRS names a system register by five numbers (Arm ARM, "MRS"; op0 is 3 for all of these). */
function systemRegister(op1: number, crn: number, crm: number, op2: number): number {
  return (1 << 19) | (op1 << 16) | (crn << 12) | (crm << 8) | (op2 << 5);
}

/**
 * Exactly the instructions that the programs here take (Arm Architecture Reference Manual for A-profile, C4
 * "A64 Instruction Set Encoding"). Each is one word; each method is one encoding, the one that the GNU
 * assembler takes for its text.
 */
export class Arm64Assembler {
  readonly #code = new CodeBuffer();

  label(name: string): void {
    this.#code.label(name);
  }

  finish(): MachineCode {
    return this.#code.finish();
  }

  /** All 64 bits, always in four instructions. */
  setWide(register: Arm64Register, value: bigint): void {
    for (let part = 0; part < 4; part++) {
      const bits = Number((value >> BigInt(16 * part)) & 0xffffn);
      const [name, base] = part === 0 ? ['movz', 0xd2800000] : ['movk', 0xf2800000];
      this.#word(
        `${name} x${register}, #${bits}, lsl #${16 * part}`,
        base + (part << 21) + (bits << 5) + register,
      );
    }
  }

  /** The low 32 bits; the high ones become zero. */
  set(register: Arm64Register, value: number): void {
    const [low, high] = [value & 0xffff, value >>> 16];
    this.#word(`movz w${register}, #${low}`, 0x52800000 + (low << 5) + register);
    if (high !== 0) this.#word(`movk w${register}, #${high}, lsl #16`, 0x72a00000 + (high << 5) + register);
  }

  copy32(to: Arm64Register, from: Arm64Register): void {
    this.#word(`mov w${to}, w${from}`, 0x2a000000 + (from << 16) + (ZERO << 5) + to);
  }
  copy64(to: Arm64Register, from: Arm64Register): void {
    this.#word(`mov x${to}, x${from}`, 0xaa000000 + (from << 16) + (ZERO << 5) + to);
  }

  load16(to: Arm64Register, base: Arm64Register, offset: number): void {
    this.#word(`ldrh w${to}, [x${base}, #${offset}]`, 0x79400000 + (offset << 9) + (base << 5) + to);
  }
  load32(to: Arm64Register, base: Arm64Register, offset: number): void {
    this.#word(`ldr w${to}, [x${base}, #${offset}]`, 0xb9400000 + (offset << 8) + (base << 5) + to);
  }
  load64(to: Arm64Register, base: Arm64Register, offset: number): void {
    this.#word(`ldr x${to}, [x${base}, #${offset}]`, 0xf9400000 + (offset << 7) + (base << 5) + to);
  }
  store64(from: Arm64Register, base: Arm64Register, offset: number): void {
    this.#word(`str x${from}, [x${base}, #${offset}]`, 0xf9000000 + (offset << 7) + (base << 5) + from);
  }
  /** Loads that come later in the program see memory at least as new as this one did. */
  loadAcquire32(to: Arm64Register, base: Arm64Register): void {
    this.#word(`ldar w${to}, [x${base}]`, 0x88dffc00 + (base << 5) + to);
  }
  loadAcquire64(to: Arm64Register, base: Arm64Register): void {
    this.#word(`ldar x${to}, [x${base}]`, 0xc8dffc00 + (base << 5) + to);
  }
  /** What the program read or wrote before it is done when others see this. */
  storeRelease64(from: Arm64Register, base: Arm64Register): void {
    this.#word(`stlr x${from}, [x${base}]`, 0xc89ffc00 + (base << 5) + from);
  }
  /** Loads before it are done before loads after it. */
  loadBarrier(): void {
    this.#word('dmb ishld', 0xd50339bf);
  }
  pushFrame(): void {
    this.#word('stp x29, x30, [sp, #-16]!', 0xa9bf7bfd);
  }
  popFrame(): void {
    this.#word('ldp x29, x30, [sp], #16', 0xa8c17bfd);
  }

  pushPair(first: Arm64Register, second: Arm64Register): void {
    const word = 0xa9bf0000 + (second << 10) + (STACK << 5) + first;
    this.#word(`stp x${first}, x${second}, [sp, #-16]!`, word);
  }
  popPair(first: Arm64Register, second: Arm64Register): void {
    const word = 0xa8c10000 + (second << 10) + (STACK << 5) + first;
    this.#word(`ldp x${first}, x${second}, [sp], #16`, word);
  }

  add64(to: Arm64Register, a: Arm64Register, b: Arm64Register): void {
    this.#word(`add x${to}, x${a}, x${b}`, 0x8b000000 + (b << 16) + (a << 5) + to);
  }
  addShifted64(to: Arm64Register, a: Arm64Register, b: Arm64Register, shift: number): void {
    this.#word(
      `add x${to}, x${a}, x${b}, lsl #${shift}`,
      0x8b000000 + (b << 16) + (shift << 10) + (a << 5) + to,
    );
  }
  /** Below 4096, either sign. */
  addImmediate64(to: Arm64Register, from: Arm64Register, value: number): void {
    const [name, base] = value < 0 ? ['sub', 0xd1000000] : ['add', 0x91000000];
    const size = Math.abs(value);
    this.#word(`${name} x${to}, x${from}, #${size}`, base + (size << 10) + (from << 5) + to);
  }
  sub32(to: Arm64Register, a: Arm64Register, b: Arm64Register): void {
    this.#word(`sub w${to}, w${a}, w${b}`, 0x4b000000 + (b << 16) + (a << 5) + to);
  }
  sub64(to: Arm64Register, a: Arm64Register, b: Arm64Register): void {
    this.#word(`sub x${to}, x${a}, x${b}`, 0xcb000000 + (b << 16) + (a << 5) + to);
  }
  /** A borrow clears the carry (`lo`). */
  subtract32(to: Arm64Register, from: Arm64Register, value: number): void {
    this.#word(`subs w${to}, w${from}, #${value}`, 0x71000000 + (value << 10) + (from << 5) + to);
  }
  and64(to: Arm64Register, a: Arm64Register, b: Arm64Register): void {
    this.#word(`and x${to}, x${a}, x${b}`, 0x8a000000 + (b << 16) + (a << 5) + to);
  }
  or32(to: Arm64Register, a: Arm64Register, b: Arm64Register): void {
    this.#word(`orr w${to}, w${a}, w${b}`, 0x2a000000 + (b << 16) + (a << 5) + to);
  }
  multiply64(to: Arm64Register, a: Arm64Register, b: Arm64Register): void {
    this.#word(`mul x${to}, x${a}, x${b}`, 0x9b000000 + (b << 16) + (ZERO << 10) + (a << 5) + to);
  }
  /** to = a * b + addend. */
  multiplyAdd64(to: Arm64Register, a: Arm64Register, b: Arm64Register, addend: Arm64Register): void {
    this.#word(
      `madd x${to}, x${a}, x${b}, x${addend}`,
      0x9b000000 + (b << 16) + (addend << 10) + (a << 5) + to,
    );
  }
  /** By the low six bits of the last register. */
  shiftLeft64(to: Arm64Register, from: Arm64Register, count: Arm64Register): void {
    this.#word(`lsl x${to}, x${from}, x${count}`, 0x9ac02000 + (count << 16) + (from << 5) + to);
  }
  shiftRight64(to: Arm64Register, from: Arm64Register, count: Arm64Register): void {
    this.#word(`lsr x${to}, x${from}, x${count}`, 0x9ac02400 + (count << 16) + (from << 5) + to);
  }
  /** Copies of the sign come in from the left. */
  shiftRightSigned64(to: Arm64Register, from: Arm64Register, count: Arm64Register): void {
    this.#word(`asr x${to}, x${from}, x${count}`, 0x9ac02800 + (count << 16) + (from << 5) + to);
  }

  compare32(a: Arm64Register, b: Arm64Register): void {
    this.#word(`cmp w${a}, w${b}`, 0x6b000000 + (b << 16) + (a << 5) + ZERO);
  }
  compare64(a: Arm64Register, b: Arm64Register): void {
    this.#word(`cmp x${a}, x${b}`, 0xeb000000 + (b << 16) + (a << 5) + ZERO);
  }
  compareImmediate64(a: Arm64Register, value: number): void {
    const [name, base] = value < 0 ? ['cmn', 0xb1000000] : ['cmp', 0xf1000000];
    const size = Math.abs(value);
    this.#word(`${name} x${a}, #${size}`, base + (size << 10) + (a << 5) + ZERO);
  }
  compareImmediate32(a: Arm64Register, value: number): void {
    this.#word(`cmp w${a}, #${value}`, 0x71000000 + (value << 10) + (a << 5) + ZERO);
  }

  jump(label: string): void {
    this.#jump(`b ${label}`, 0x14000000, label, 26, 0);
  }
  /** Leaves the way back in x30. */
  call(label: string): void {
    this.#jump(`bl ${label}`, 0x94000000, label, 26, 0);
  }
  jumpIf(condition: Arm64Condition, label: string): void {
    this.#jump(`b.${condition} ${label}`, 0x54000000 + CONDITIONS[condition], label, 19, 5);
  }
  jumpIfZero32(register: Arm64Register, label: string): void {
    this.#jump(`cbz w${register}, ${label}`, 0x34000000 + register, label, 19, 5);
  }
  /** `bit` below 32. */
  jumpIfBitClear(register: Arm64Register, bit: number, label: string): void {
    this.#jump(`tbz w${register}, #${bit}, ${label}`, 0x36000000 + (bit << 19) + register, label, 14, 5);
  }
  jumpIfBitSet(register: Arm64Register, bit: number, label: string): void {
    this.#jump(`tbnz w${register}, #${bit}, ${label}`, 0x37000000 + (bit << 19) + register, label, 14, 5);
  }
  jumpAt(register: Arm64Register): void {
    this.#word(`br x${register}`, 0xd61f0000 + (register << 5));
  }
  callAt(register: Arm64Register): void {
    this.#word(`blr x${register}`, 0xd63f0000 + (register << 5));
  }
  systemCall(): void {
    this.#word('svc #0', 0xd4000001);
  }
  return(register: Arm64Register = LINK): void {
    this.#word(`ret x${register}`, 0xd65f0000 + (register << 5));
  }
  addressOf(to: Arm64Register, label: string): void {
    const base = 0x10000000 + to;
    this.#code.emitJump(`adr x${to}, ${label}`, wordBytes(base), label, (at) => (bytes, distance) => {
      const bits = distance & 0x1f_ffff;
      bytes.splice(at, 4, ...wordBytes(base + (bits & 3) * 2 ** 29 + ((bits >> 2) << 5)));
    });
  }

  /** The virtual counter of the generic timer. */
  readTimer(to: Arm64Register): void {
    this.#word(`mrs x${to}, cntvct_el0`, 0xd5300000 + systemRegister(3, 14, 0, 2) + to);
  }
  readCycleCounter(to: Arm64Register): void {
    this.#word(`mrs x${to}, pmccntr_el0`, 0xd5300000 + systemRegister(3, 9, 13, 0) + to);
  }
  readEventCounter(to: Arm64Register, counter: number): void {
    const register = systemRegister(3, 14, 8 + (counter >> 3), counter & 7);
    this.#word(`mrs x${to}, pmevcntr${counter}_el0`, 0xd5300000 + register + to);
  }

  #word(text: string, word: number): void {
    this.#code.emit(text, wordBytes(word));
  }

  /** The distance in words goes into `width` bits from `shift` on. */
  #jump(text: string, base: number, label: string, width: number, shift: number): void {
    this.#code.emitJump(text, wordBytes(base), label, (at) => (bytes, distance) => {
      const words = distance / 4;
      const most = 2 ** (width - 1);
      if (words < -most || words >= most) throw new Error(`${label} is too far away for: ${text}`);
      const bits = words < 0 ? words + 2 ** width : words;
      bytes.splice(at, 4, ...wordBytes(base + bits * 2 ** shift));
    });
  }
}

function wordBytes(word: number): number[] {
  return [word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, (word >>> 24) & 0xff];
}
