import { Arm64Assembler, type Arm64Condition } from './arm64-assembler.ts';
import type { MachineCode } from './code-buffer.ts';
import { X86Assembler, type X86Condition, type X86Memory, type X86Register } from './x86-assembler.ts';

/**
 * Registers that keep their values over system calls, but for `result`, which is what a call gives. `counter`
 * is no base of a field (rsp's twin r12 on x86).
 */
const X86_REGISTERS = {
  block: 'rbx',
  ring: 'rbp',
  counter: 'r12',
  place: 'r13',
  size: 'r14',
  value: 'r15',
  result: 'rax',
} as const satisfies Record<string, X86Register>;

const ARM64_REGISTERS = {
  block: 19,
  ring: 20,
  counter: 21,
  place: 22,
  size: 23,
  value: 24,
  result: 0,
} as const;

export type CodeRegister = keyof typeof X86_REGISTERS;

/** The 64 bits at `offset` from what the register points to. */
export interface Field {
  base: 'block' | 'ring' | 'place';
  offset: number;
}

/** After `compare`: of unsigned numbers `below`, `above` and their opposites, of signed ones `greater`. */
export type Condition = 'equal' | 'notEqual' | 'below' | 'notBelow' | 'above' | 'greater';

/** An argument of a system call: a number, a register, what a field holds, or where it is. */
export type CallArgument = number | CodeRegister | Field | { addressOf: Field };

/**
 * One program for several architectures: a C function `void *program(void *block)` that
 * calls nothing but the kernel.
 */
export interface PortableAssembler {
  label(name: string): void;
  /** The function begins: its argument is in `block`. */
  begin(): void;
  end(): void;
  finish(): MachineCode;
  /** At most 31 bits. */
  set(to: CodeRegister, value: number): void;
  copy(to: CodeRegister, from: CodeRegister): void;
  load(to: CodeRegister, from: Field): void;
  /** 32 bits, anywhere; the upper half becomes zero. */
  load32(to: CodeRegister, from: Field): void;
  /** Later loads see memory at least as new as this one did. */
  loadAcquire(to: CodeRegister, from: Field): void;
  store(to: Field, from: CodeRegister): void;
  /** What was done before it is seen by whoever sees this. */
  storeRelease(to: Field, from: CodeRegister): void;
  add(to: CodeRegister, from: CodeRegister): void;
  /** Below 4096, either sign. */
  addNumber(to: Exclude<CodeRegister, 'result'>, value: number): void;
  subtract(to: CodeRegister, from: CodeRegister): void;
  and(to: CodeRegister, from: CodeRegister): void;
  compare(a: CodeRegister, b: CodeRegister): void;
  /** Below 128, either sign. */
  compareNumber(a: CodeRegister, value: number): void;
  jumpIf(condition: Condition, label: string): void;
  jump(label: string): void;
  /** What the kernel gives is in `result`: -errno where it fails. */
  systemCall(number: number, ...args: readonly CallArgument[]): void;
}

/** Null for an architecture that has none. */
export function portableAssembler(arch: string): PortableAssembler | null {
  switch (arch) {
    case 'x64':
      return new PortableX86();
    case 'arm64':
      return new PortableArm64();
    default:
      return null;
  }
}

const X86_CONDITIONS: Record<Condition, X86Condition> = {
  equal: 'je',
  notEqual: 'jne',
  below: 'jb',
  notBelow: 'jae',
  above: 'ja',
  greater: 'jg',
};

/** System V calling convention; of the arguments of a system call the fourth is in r10 (syscall(2)). */
const X86_ARGUMENTS = ['rdi', 'rsi', 'rdx', 'r10', 'r8', 'r9'] as const satisfies readonly X86Register[];
/** rbx and rbp too: whoever calls the function finds them as they were. */
const X86_SAVED = ['rbx', 'rbp', 'r12', 'r13', 'r14', 'r15'] as const satisfies readonly X86Register[];

class PortableX86 implements PortableAssembler {
  readonly #asm = new X86Assembler();

  label(name: string): void {
    this.#asm.label(name);
  }
  begin(): void {
    for (const register of X86_SAVED) this.#asm.push(register);
    this.#asm.copy64('rbx', 'rdi');
  }
  end(): void {
    this.#asm.clear('rax');
    for (const register of X86_SAVED.toReversed()) this.#asm.pop(register);
    this.#asm.return();
  }
  finish(): MachineCode {
    return this.#asm.finish();
  }
  set(to: CodeRegister, value: number): void {
    this.#asm.set(X86_REGISTERS[to], value);
  }
  copy(to: CodeRegister, from: CodeRegister): void {
    this.#asm.copy64(X86_REGISTERS[to], X86_REGISTERS[from]);
  }
  load(to: CodeRegister, from: Field): void {
    this.#asm.load64(X86_REGISTERS[to], x86Memory(from));
  }
  load32(to: CodeRegister, from: Field): void {
    this.#asm.load32(X86_REGISTERS[to], x86Memory(from));
  }
  /** x86 keeps loads in order, and stores. */
  loadAcquire(to: CodeRegister, from: Field): void {
    this.load(to, from);
  }
  store(to: Field, from: CodeRegister): void {
    this.#asm.store64(x86Memory(to), X86_REGISTERS[from]);
  }
  storeRelease(to: Field, from: CodeRegister): void {
    this.store(to, from);
  }
  add(to: CodeRegister, from: CodeRegister): void {
    this.#asm.add64(X86_REGISTERS[to], X86_REGISTERS[from]);
  }
  addNumber(to: Exclude<CodeRegister, 'result'>, value: number): void {
    this.#asm.addImmediate64(X86_REGISTERS[to], value);
  }
  subtract(to: CodeRegister, from: CodeRegister): void {
    this.#asm.sub64(X86_REGISTERS[to], X86_REGISTERS[from]);
  }
  and(to: CodeRegister, from: CodeRegister): void {
    this.#asm.and64(X86_REGISTERS[to], X86_REGISTERS[from]);
  }
  compare(a: CodeRegister, b: CodeRegister): void {
    this.#asm.compare64(X86_REGISTERS[a], X86_REGISTERS[b]);
  }
  compareNumber(a: CodeRegister, value: number): void {
    this.#asm.compareImmediate64(X86_REGISTERS[a], value);
  }
  jumpIf(condition: Condition, label: string): void {
    this.#asm.jumpIf(X86_CONDITIONS[condition], label);
  }
  jump(label: string): void {
    this.#asm.jump(label);
  }
  systemCall(number: number, ...args: readonly CallArgument[]): void {
    args.forEach((argument, index) => {
      const to = X86_ARGUMENTS[index]!;
      if (typeof argument === 'number') this.#asm.set(to, argument);
      else if (typeof argument === 'string') this.#asm.copy64(to, X86_REGISTERS[argument]);
      else if ('addressOf' in argument) {
        this.#asm.copy64(to, X86_REGISTERS[argument.addressOf.base]);
        this.#asm.addImmediate64(to, argument.addressOf.offset);
      } else this.#asm.load64(to, x86Memory(argument));
    });
    this.#asm.set('rax', number);
    this.#asm.systemCall();
  }
}

function x86Memory({ base, offset }: Field): X86Memory {
  return { base: X86_REGISTERS[base], offset };
}

const ARM64_CONDITIONS: Record<Condition, Arm64Condition> = {
  equal: 'eq',
  notEqual: 'ne',
  below: 'lo',
  notBelow: 'hs',
  above: 'hi',
  greater: 'gt',
};
/** The call's number. */
const ARM64_NUMBER = 8;
/** For addresses; no one keeps it. */
const ARM64_SCRATCH = 9;
const ARM64_SAVED = [
  [19, 20],
  [21, 22],
  [23, 24],
] as const;

class PortableArm64 implements PortableAssembler {
  readonly #asm = new Arm64Assembler();

  label(name: string): void {
    this.#asm.label(name);
  }
  begin(): void {
    for (const [first, second] of ARM64_SAVED) this.#asm.pushPair(first, second);
    this.#asm.copy64(ARM64_REGISTERS.block, 0);
  }
  end(): void {
    this.#asm.set(0, 0);
    for (const [first, second] of ARM64_SAVED.toReversed()) this.#asm.popPair(first, second);
    this.#asm.return();
  }
  finish(): MachineCode {
    return this.#asm.finish();
  }
  set(to: CodeRegister, value: number): void {
    this.#asm.set(ARM64_REGISTERS[to], value);
  }
  copy(to: CodeRegister, from: CodeRegister): void {
    this.#asm.copy64(ARM64_REGISTERS[to], ARM64_REGISTERS[from]);
  }
  load(to: CodeRegister, { base, offset }: Field): void {
    this.#asm.load64(ARM64_REGISTERS[to], ARM64_REGISTERS[base], offset);
  }
  load32(to: CodeRegister, { base, offset }: Field): void {
    this.#asm.load32(ARM64_REGISTERS[to], ARM64_REGISTERS[base], offset);
  }
  loadAcquire(to: CodeRegister, { base, offset }: Field): void {
    this.#asm.addImmediate64(ARM64_SCRATCH, ARM64_REGISTERS[base], offset);
    this.#asm.loadAcquire64(ARM64_REGISTERS[to], ARM64_SCRATCH);
  }
  store({ base, offset }: Field, from: CodeRegister): void {
    this.#asm.store64(ARM64_REGISTERS[from], ARM64_REGISTERS[base], offset);
  }
  storeRelease({ base, offset }: Field, from: CodeRegister): void {
    this.#asm.addImmediate64(ARM64_SCRATCH, ARM64_REGISTERS[base], offset);
    this.#asm.storeRelease64(ARM64_REGISTERS[from], ARM64_SCRATCH);
  }
  add(to: CodeRegister, from: CodeRegister): void {
    this.#asm.add64(ARM64_REGISTERS[to], ARM64_REGISTERS[to], ARM64_REGISTERS[from]);
  }
  addNumber(to: Exclude<CodeRegister, 'result'>, value: number): void {
    this.#asm.addImmediate64(ARM64_REGISTERS[to], ARM64_REGISTERS[to], value);
  }
  subtract(to: CodeRegister, from: CodeRegister): void {
    this.#asm.sub64(ARM64_REGISTERS[to], ARM64_REGISTERS[to], ARM64_REGISTERS[from]);
  }
  and(to: CodeRegister, from: CodeRegister): void {
    this.#asm.and64(ARM64_REGISTERS[to], ARM64_REGISTERS[to], ARM64_REGISTERS[from]);
  }
  compare(a: CodeRegister, b: CodeRegister): void {
    this.#asm.compare64(ARM64_REGISTERS[a], ARM64_REGISTERS[b]);
  }
  compareNumber(a: CodeRegister, value: number): void {
    this.#asm.compareImmediate64(ARM64_REGISTERS[a], value);
  }
  jumpIf(condition: Condition, label: string): void {
    this.#asm.jumpIf(ARM64_CONDITIONS[condition], label);
  }
  jump(label: string): void {
    this.#asm.jump(label);
  }
  systemCall(number: number, ...args: readonly CallArgument[]): void {
    args.forEach((argument, to) => {
      if (typeof argument === 'number') this.#asm.set(to, argument);
      else if (typeof argument === 'string') this.#asm.copy64(to, ARM64_REGISTERS[argument]);
      else if ('addressOf' in argument) {
        const { base, offset } = argument.addressOf;
        this.#asm.addImmediate64(to, ARM64_REGISTERS[base], offset);
      } else this.#asm.load64(to, ARM64_REGISTERS[argument.base], argument.offset);
    });
    this.#asm.set(ARM64_NUMBER, number);
    this.#asm.systemCall();
  }
}
