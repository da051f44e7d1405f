import { CodeBuffer, type MachineCode } from './code-buffer.ts';

/** In the order of their numbers (Intel SDM volume 2, table 3-1). */
const NAMES = [
  ['rax', 'eax'],
  ['rcx', 'ecx'],
  ['rdx', 'edx'],
  ['rbx', 'ebx'],
  ['rsp', 'esp'],
  ['rbp', 'ebp'],
  ['rsi', 'esi'],
  ['rdi', 'edi'],
  ['r8', 'r8d'],
  ['r9', 'r9d'],
  ['r10', 'r10d'],
  ['r11', 'r11d'],
  ['r12', 'r12d'],
  ['r13', 'r13d'],
  ['r14', 'r14d'],
  ['r15', 'r15d'],
] as const;

export type X86Register = (typeof NAMES)[number][0];

/** Only these are bases: the encodings of rsp and r12 are exceptions that nothing here needs. */
export interface X86Memory {
  base: 'rdi' | 'rsi' | 'r8' | 'rbx' | 'rbp' | 'r13';
  offset: number;
}

const CONDITIONS = { jb: 0x2, jae: 0x3, je: 0x4, jne: 0x5, ja: 0x7, jg: 0xf } as const;
export type X86Condition = keyof typeof CONDITIONS;

const REX_W = 8;

function numberOf(register: X86Register): number {
  return NAMES.findIndex(([name]) => name === register);
}

function name32(register: X86Register): string {
  return NAMES[numberOf(register)]![1];
}

function littleEndian(value: bigint, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}

function bytes32(value: number): number[] {
  return littleEndian(BigInt(value), 4);
}

/**
 * Exactly the instructions that the programs here take (Intel SDM volume 2, "Instruction Format"):
 *
 *   | REX 0100WRXB | opcode | ModRM mod:2 reg:3 rm:3 | displacement 0, 1 or 4 | immediate |
 *
 * `W` is 64 bits, `R` and `B` are the fourth bits of `reg` and `rm`. Each method is one encoding, the one
 * that the GNU assembler takes for its text.
 */
export class X86Assembler {
  readonly #code = new CodeBuffer();

  label(name: string): void {
    this.#code.label(name);
  }

  finish(): MachineCode {
    return this.#code.finish();
  }

  push(register: X86Register): void {
    const number = numberOf(register);
    this.#code.emit(`push ${register}`, [...(number > 7 ? [0x41] : []), 0x50 | (number & 7)]);
  }

  pop(register: X86Register): void {
    const number = numberOf(register);
    this.#code.emit(`pop ${register}`, [...(number > 7 ? [0x41] : []), 0x58 | (number & 7)]);
  }

  /** All 64 bits. */
  setWide(register: X86Register, value: bigint): void {
    const number = numberOf(register);
    const rex = 0x48 | (number >> 3);
    this.#code.emit(`movabs ${register}, 0x${value.toString(16)}`, [
      rex,
      0xb8 | (number & 7),
      ...littleEndian(value, 8),
    ]);
  }

  /** The low 32 bits; the high ones become zero. */
  set(register: X86Register, value: number): void {
    const number = numberOf(register);
    const rex = number > 7 ? [0x41] : [];
    this.#code.emit(`mov ${name32(register)}, ${value}`, [...rex, 0xb8 | (number & 7), ...bytes32(value)]);
  }

  copy32(to: X86Register, from: X86Register): void {
    this.#encode(`mov ${name32(to)}, ${name32(from)}`, 0, [0x89], from, to);
  }
  copy64(to: X86Register, from: X86Register): void {
    this.#encode(`mov ${to}, ${from}`, REX_W, [0x89], from, to);
  }

  load16(to: X86Register, from: X86Memory): void {
    this.#encode(`movzx ${name32(to)}, WORD PTR ${place(from)}`, 0, [0x0f, 0xb7], to, from);
  }
  load32(to: X86Register, from: X86Memory): void {
    this.#encode(`mov ${name32(to)}, DWORD PTR ${place(from)}`, 0, [0x8b], to, from);
  }
  load64(to: X86Register, from: X86Memory): void {
    this.#encode(`mov ${to}, QWORD PTR ${place(from)}`, REX_W, [0x8b], to, from);
  }
  store64(to: X86Memory, from: X86Register): void {
    this.#encode(`mov QWORD PTR ${place(to)}, ${from}`, REX_W, [0x89], from, to);
  }

  add64(to: X86Register, from: X86Register): void {
    this.#encode(`add ${to}, ${from}`, REX_W, [0x01], from, to);
  }
  add64From(to: X86Register, from: X86Memory): void {
    this.#encode(`add ${to}, QWORD PTR ${place(from)}`, REX_W, [0x03], to, from);
  }
  /** Not for rax, whose encoding of large values is another. */
  addImmediate64(register: Exclude<X86Register, 'rax'>, value: number): void {
    this.#withImmediate(`add ${register}, ${value}`, 0, register, value);
  }
  and64(to: X86Register, from: X86Register): void {
    this.#encode(`and ${to}, ${from}`, REX_W, [0x21], from, to);
  }
  sub64(to: X86Register, from: X86Register): void {
    this.#encode(`sub ${to}, ${from}`, REX_W, [0x29], from, to);
  }
  negate64(register: X86Register): void {
    this.#encode(`neg ${register}`, REX_W, [0xf7], 3, register);
  }
  /** A borrow sets the carry (`jb`). */
  subtract32(register: X86Register, value: number): void {
    this.#encode(`sub ${name32(register)}, ${value}`, 0, [0x83], 5, register, [value]);
  }
  sub32(to: X86Register, from: X86Register): void {
    this.#encode(`sub ${name32(to)}, ${name32(from)}`, 0, [0x29], from, to);
  }
  or64(to: X86Register, from: X86Register): void {
    this.#encode(`or ${to}, ${from}`, REX_W, [0x09], from, to);
  }
  orBits32(register: X86Register, bits: number): void {
    this.#encode(`or ${name32(register)}, ${bits}`, 0, [0x83], 1, register, [bits]);
  }
  clear(register: X86Register): void {
    this.#encode(`xor ${name32(register)}, ${name32(register)}`, 0, [0x31], register, register);
  }
  multiply64(to: X86Register, from: X86Register): void {
    this.#encode(`imul ${to}, ${from}`, REX_W, [0x0f, 0xaf], to, from);
  }
  multiply64From(to: X86Register, from: X86Memory, factor: number): void {
    this.#encode(`imul ${to}, QWORD PTR ${place(from)}, ${factor}`, REX_W, [0x69], to, from, bytes32(factor));
  }
  shiftLeft64(register: X86Register, count: number): void {
    this.#encode(`shl ${register}, ${count}`, REX_W, [0xc1], 4, register, [count]);
  }
  /** By the low six bits of cl. */
  shiftLeft64ByCl(register: X86Register): void {
    this.#encode(`shl ${register}, cl`, REX_W, [0xd3], 4, register);
  }
  shiftRight64ByCl(register: X86Register): void {
    this.#encode(`shr ${register}, cl`, REX_W, [0xd3], 5, register);
  }
  /** Copies of the sign come in from the left. */
  shiftRightSigned64ByCl(register: X86Register): void {
    this.#encode(`sar ${register}, cl`, REX_W, [0xd3], 7, register);
  }

  compare64(a: X86Register, b: X86Register): void {
    this.#encode(`cmp ${a}, ${b}`, REX_W, [0x39], b, a);
  }
  /** Below 128, signed. */
  compareImmediate64(register: X86Register, value: number): void {
    this.#withImmediate(`cmp ${register}, ${value}`, 7, register, value);
  }
  compare32With(register: X86Register, memory: X86Memory): void {
    this.#encode(`cmp ${name32(register)}, DWORD PTR ${place(memory)}`, 0, [0x3b], register, memory);
  }
  testByte(memory: X86Memory, bits: number): void {
    this.#encode(`test BYTE PTR ${place(memory)}, ${bits}`, 0, [0xf6], 0, memory, [bits]);
  }
  /** Not for rax, whose shorter encoding is another. */
  testBits32(register: Exclude<X86Register, 'rax'>, bits: number): void {
    const text = `test ${name32(register)}, 0x${bits.toString(16)}`;
    this.#encode(text, 0, [0xf7], 0, register, bytes32(bits));
  }
  testZero32(register: X86Register): void {
    this.#encode(`test ${name32(register)}, ${name32(register)}`, 0, [0x85], register, register);
  }

  /** Jumps have 32-bit distances, wherever they go. */
  jumpIf(condition: X86Condition, label: string): void {
    this.#jump(`{disp32} ${condition} ${label}`, [0x0f, 0x80 | CONDITIONS[condition]], label);
  }
  jump(label: string): void {
    this.#jump(`{disp32} jmp ${label}`, [0xe9], label);
  }
  call(label: string): void {
    this.#jump(`call ${label}`, [0xe8], label);
  }
  callAt(register: 'rax'): void {
    this.#code.emit(`call ${register}`, [0xff, 0xd0]);
  }
  /** The kernel keeps all registers but rax, rcx and r11. */
  systemCall(): void {
    this.#code.emit('syscall', [0x0f, 0x05]);
  }
  return(): void {
    this.#code.emit('ret', [0xc3]);
  }

  /** edx:eax = time stamp counter. */
  readTimeStamp(): void {
    this.#code.emit('rdtsc', [0x0f, 0x31]);
  }
  /** edx:eax = counter ecx. */
  readCounter(): void {
    this.#code.emit('rdpmc', [0x0f, 0x33]);
  }

  /** A byte where it is enough, as the GNU assembler has it. */
  #withImmediate(text: string, extension: number, register: X86Register, value: number): void {
    const isByte = value >= -128 && value < 128;
    const immediate = isByte ? [value & 0xff] : bytes32(value);
    this.#encode(text, REX_W, [isByte ? 0x83 : 0x81], extension, register, immediate);
  }

  #jump(text: string, opcode: readonly number[], label: string): void {
    const size = opcode.length + 4;
    this.#code.emitJump(text, [...opcode, 0, 0, 0, 0], label, (at) => (bytes, distance) => {
      bytes.splice(at + opcode.length, 4, ...bytes32(distance - size));
    });
  }

  /** `reg` is a register or the number that extends the opcode. */
  #encode(
    text: string,
    wide: number,
    opcode: readonly number[],
    reg: X86Register | number,
    rm: X86Register | X86Memory,
    immediate: readonly number[] = [],
  ): void {
    const regNumber = typeof reg === 'number' ? reg : numberOf(reg);
    const rmNumber = numberOf(typeof rm === 'string' ? rm : rm.base);
    const rex = 0x40 | wide | ((regNumber >> 3) << 2) | (rmNumber >> 3);
    const [mod, displacement] = typeof rm === 'string' ? [3, []] : displace(rm);
    const modRm = (mod << 6) | ((regNumber & 7) << 3) | (rmNumber & 7);
    const bytes = [...(rex === 0x40 ? [] : [rex]), ...opcode, modRm, ...displacement, ...immediate];
    this.#code.emit(text, bytes);
  }
}

function place({ base, offset }: X86Memory): string {
  return offset === 0 ? `[${base}]` : `[${base}+${offset}]`;
}

/** Without a displacement rbp and r13 would mean something else. */
function displace({ base, offset }: X86Memory): [mod: number, bytes: number[]] {
  if (offset === 0 && base !== 'rbp' && base !== 'r13') return [0, []];
  return offset < 128 ? [1, [offset]] : [2, bytes32(offset)];
}
