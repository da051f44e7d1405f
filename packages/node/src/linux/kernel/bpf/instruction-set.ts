/**
 * Every instruction of eBPF up to cpu v4, one method each (RFC 9669). Registers decide the
 * width: `r` are 64 bits, `w` the low 32. Each method says in its comment what it writes in the
 * assembly text of the kernel and LLVM.
 */
import {
  BPF_ABS,
  BPF_ADD,
  BPF_ADDRESS_SPACE_CAST_OFFSET,
  BPF_ALU,
  BPF_ALU64,
  BPF_AND,
  BPF_ARSH,
  BPF_ATOMIC,
  BPF_B,
  BPF_CALL,
  BPF_CMPXCHG,
  BPF_DIV,
  BPF_DW,
  BPF_END,
  BPF_EXIT,
  BPF_FETCH,
  BPF_H,
  BPF_IMM,
  BPF_IND,
  BPF_JA,
  BPF_JCOND,
  BPF_JEQ,
  BPF_JGE,
  BPF_JGT,
  BPF_JLE,
  BPF_JLT,
  BPF_JMP,
  BPF_JMP32,
  BPF_JNE,
  BPF_JSET,
  BPF_JSGE,
  BPF_JSGT,
  BPF_JSLE,
  BPF_JSLT,
  BPF_K,
  BPF_LD,
  BPF_LDX,
  BPF_LOAD_ACQ,
  BPF_LSH,
  BPF_MEM,
  BPF_MEMSX,
  BPF_MOD,
  BPF_MOV,
  BPF_MUL,
  BPF_NEG,
  BPF_OR,
  BPF_PSEUDO_CALL,
  BPF_PSEUDO_FUNC,
  BPF_PSEUDO_KFUNC_CALL,
  BPF_REG_FP,
  BPF_RSH,
  BPF_SIGNED_OFFSET,
  BPF_ST,
  BPF_STORE_REL,
  BPF_STX,
  BPF_SUB,
  BPF_W,
  BPF_X,
  BPF_XCHG,
  BPF_XOR,
} from '@counterpoint/core/abi';
import { type MemoryOperand, type Register, registerName } from './operands.ts';
import { ProgramWriter } from './program-writer.ts';

/** `s` is signed; `&` is true where both have a bit in common. */
export type Comparison = keyof typeof COMPARISONS;

/** The comparisons of a conditional jump and their opcodes; `s>` compares with signs, `&` tests bits. */
export const COMPARISONS = {
  '==': BPF_JEQ,
  '!=': BPF_JNE,
  '>': BPF_JGT,
  '>=': BPF_JGE,
  '<': BPF_JLT,
  '<=': BPF_JLE,
  's>': BPF_JSGT,
  's>=': BPF_JSGE,
  's<': BPF_JSLT,
  's<=': BPF_JSLE,
  '&': BPF_JSET,
} as const;

const SIZE_BITS: Readonly<Record<number, number>> = { 1: BPF_B, 2: BPF_H, 4: BPF_W, 8: BPF_DW };

/** The instructions of BPF, one function each. */
export class InstructionAssembler {
  /** Takes the instructions. */
  protected readonly code: ProgramWriter = new ProgramWriter();

  // Arithmetic: destination OP= source.

  /** `r1 += r2`, `w1 += 5` */
  add(destination: Register, source: Register | number): void {
    this.#alu(BPF_ADD, destination, source);
  }
  /** `r1 -= r2` */
  subtract(destination: Register, source: Register | number): void {
    this.#alu(BPF_SUB, destination, source);
  }
  /** `r1 *= r2` */
  multiply(destination: Register, source: Register | number): void {
    this.#alu(BPF_MUL, destination, source);
  }
  /** `r1 /= r2`, unsigned; by a register of 0 it is 0 */
  divide(destination: Register, source: Register | number): void {
    this.#alu(BPF_DIV, destination, notZero(this.code, source));
  }
  /** `r1 s/= r2` (cpu v4) */
  divideSigned(destination: Register, source: Register | number): void {
    this.#alu(BPF_DIV, destination, notZero(this.code, source), BPF_SIGNED_OFFSET);
  }
  /** `r1 %= r2`, unsigned; by a register of 0 it stays */
  modulo(destination: Register, source: Register | number): void {
    this.#alu(BPF_MOD, destination, notZero(this.code, source));
  }
  /** `r1 s%= r2` (cpu v4) */
  moduloSigned(destination: Register, source: Register | number): void {
    this.#alu(BPF_MOD, destination, notZero(this.code, source), BPF_SIGNED_OFFSET);
  }
  /** `r1 |= r2` */
  or(destination: Register, source: Register | number): void {
    this.#alu(BPF_OR, destination, source);
  }
  /** `r1 &= r2` */
  and(destination: Register, source: Register | number): void {
    this.#alu(BPF_AND, destination, source);
  }
  /** `r1 ^= r2` */
  xor(destination: Register, source: Register | number): void {
    this.#alu(BPF_XOR, destination, source);
  }
  /** `r1 <<= 3` */
  shiftLeft(destination: Register, source: Register | number): void {
    this.#shift(BPF_LSH, destination, source);
  }
  /** `r1 >>= 3`, zeros move in */
  shiftRight(destination: Register, source: Register | number): void {
    this.#shift(BPF_RSH, destination, source);
  }
  /** `r1 s>>= 3`, the sign moves in */
  shiftRightSigned(destination: Register, source: Register | number): void {
    this.#shift(BPF_ARSH, destination, source);
  }
  /** `r1 = -r1` */
  negate(destination: Register): void {
    this.written(destination);
    this.code.emit(aluClass(destination) | BPF_NEG | BPF_K, destination.number);
  }

  /**
   * `r1 = r2`, `w1 = 5`, `r1 = 0x1122334455667788 ll`: a number of any size takes the shortest instruction
   * that makes it, two slots where no other does.
   */
  move(destination: Register, source: Register | number | bigint): void {
    if (typeof source === 'object') {
      this.#alu(BPF_MOV, destination, source);
      return;
    }
    const value = wholeNumber(this.code, source);
    if (destination.bits === 32 || (value >= -0x80000000n && value <= 0x7fffffffn)) {
      this.#alu(BPF_MOV, destination, Number(value));
    } else if (value >= 0n && value <= 0xffffffffn) {
      // A write of the low half clears the high one.
      this.written(destination);
      this.code.emit(BPF_ALU | BPF_MOV | BPF_K, destination.number, 0, 0, Number(BigInt.asIntN(32, value)));
    } else {
      this.moveWide(destination, value);
    }
  }
  /** `r1 = (s8)r2`: the sign of the low 8, 16 or 32 bits is extended (cpu v4) */
  moveSigned(destination: Register, source: Register, bits: 8 | 16 | 32): void {
    if (bits >= destination.bits)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `${registerName(destination)} has only ${bits} bits to extend to`,
        'Extend fewer bits, or into all 64 bits of a register.',
      );
    this.#alu(BPF_MOV, destination, source, bits);
  }
  /** `r1 = 0x1122334455667788 ll`, two slots whatever the number */
  moveWide(destination: Register, value: number | bigint): void {
    const number = wholeNumber(this.code, value);
    if (number < -(1n << 63n) || number >= 1n << 64n)
      throw this.code.error('ERR_BPF_IMMEDIATE', `${number} has more than 64 bits`, 'Give at most 64 bits.');
    this.#wholeOnly(destination);
    this.written(destination);
    this.code.emitWide(
      destination.number,
      0,
      Number(BigInt.asIntN(32, number)),
      Number(BigInt.asIntN(32, number >> 32n)),
    );
  }
  /** `r1 = addr_space_cast(r2, 0, 1)`: a pointer from one address space of an arena to another (Linux 6.9) */
  castAddressSpace(destination: Register, source: Register, to: number, from: number): void {
    this.#wholeOnly(destination);
    this.#wholeOnly(source);
    this.written(destination);
    this.code.emit(
      BPF_ALU64 | BPF_MOV | BPF_X,
      destination.number,
      source.number,
      BPF_ADDRESS_SPACE_CAST_OFFSET,
      (to << 16) | from,
    );
  }

  /** `r1 = le16 r1`: from the machine's byte order to little endian, and cut to the width */
  toLittleEndian(destination: Register, bits: 16 | 32 | 64): void {
    this.#byteOrder(BPF_ALU | BPF_END | BPF_K, destination, bits);
  }
  /** `r1 = be16 r1`: from the machine's byte order to big endian, and cut to the width */
  toBigEndian(destination: Register, bits: 16 | 32 | 64): void {
    this.#byteOrder(BPF_ALU | BPF_END | BPF_X, destination, bits);
  }
  /** `r1 = bswap16 r1`, whatever the machine's order (cpu v4) */
  swapBytes(destination: Register, bits: 16 | 32 | 64): void {
    this.#byteOrder(BPF_ALU64 | BPF_END | BPF_K, destination, bits);
  }

  // Memory.

  /** `r1 = *(u32 *)(r6 + 16)`; with a signed type the sign is extended (cpu v4) */
  load(destination: Register, from: MemoryOperand): void {
    const size = this.#access(from);
    // Eight bytes have no sign to extend.
    const mode = from.isSigned && from.sizeBytes < 8 ? BPF_MEMSX : BPF_MEM;
    if (mode === BPF_MEMSX || from.sizeBytes === 8) this.#wholeOnly(destination);
    this.written(destination);
    this.code.emit(BPF_LDX | mode | size, destination.number, from.base.number, from.offsetBytes);
  }
  /** `*(u32 *)(r10 - 8) = r1`, `*(u64 *)(r10 - 8) = 5` */
  store(to: MemoryOperand, source: Register | number): void {
    const size = this.#access(to);
    if (typeof source === 'object') {
      if (to.sizeBytes === 8) this.#wholeOnly(source);
      this.code.emit(BPF_STX | BPF_MEM | size, to.base.number, source.number, to.offsetBytes);
    } else {
      const value = this.#immediate(source, to.sizeBytes * 8);
      this.code.emit(BPF_ST | BPF_MEM | size, to.base.number, 0, to.offsetBytes, value);
    }
  }

  /** `lock *(u64 *)(r1 + 0) += r2` */
  atomicAdd(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_ADD, to, source);
  }
  /** `lock *(u64 *)(r1 + 0) |= r2` */
  atomicOr(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_OR, to, source);
  }
  /** `lock *(u64 *)(r1 + 0) &= r2` */
  atomicAnd(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_AND, to, source);
  }
  /** `lock *(u64 *)(r1 + 0) ^= r2` */
  atomicXor(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_XOR, to, source);
  }
  /** `r2 = atomic_fetch_add((u64 *)(r1 + 0), r2)`: the register gets the value from before */
  atomicFetchAdd(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_ADD | BPF_FETCH, to, this.written(source));
  }
  /** `r2 = atomic_fetch_or((u64 *)(r1 + 0), r2)` */
  atomicFetchOr(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_OR | BPF_FETCH, to, this.written(source));
  }
  /** `r2 = atomic_fetch_and((u64 *)(r1 + 0), r2)` */
  atomicFetchAnd(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_AND | BPF_FETCH, to, this.written(source));
  }
  /** `r2 = atomic_fetch_xor((u64 *)(r1 + 0), r2)` */
  atomicFetchXor(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_XOR | BPF_FETCH, to, this.written(source));
  }
  /** `r2 = xchg_64(r1 + 0, r2)` */
  atomicExchange(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_XCHG, to, this.written(source));
  }
  /** `r0 = cmpxchg_64(r1 + 0, r0, r2)`: r2 is stored where r0 was there; r0 gets the value from before */
  atomicCompareExchange(to: MemoryOperand, source: Register): void {
    this.#atomic(BPF_CMPXCHG, to, source);
  }
  /** `r1 = load_acquire((u64 *)(r2 + 0))` (Linux 6.15) */
  loadAcquire(destination: Register, from: MemoryOperand): void {
    const size = this.#access(from);
    if (from.sizeBytes === 8) this.#wholeOnly(destination);
    this.written(destination);
    this.code.emit(
      BPF_STX | BPF_ATOMIC | size,
      destination.number,
      from.base.number,
      from.offsetBytes,
      BPF_LOAD_ACQ,
    );
  }
  /** `store_release((u64 *)(r1 + 0), r2)` (Linux 6.15) */
  storeRelease(to: MemoryOperand, source: Register): void {
    const size = this.#access(to);
    if (to.sizeBytes === 8) this.#wholeOnly(source);
    this.code.emit(BPF_STX | BPF_ATOMIC | size, to.base.number, source.number, to.offsetBytes, BPF_STORE_REL);
  }

  /**
   * `r0 = *(u32 *)skb[14]`: bytes of the packet in host order, or the program ends (socket
   * filters; the context in r6)
   */
  loadPacket(sizeBytes: 1 | 2 | 4, offsetBytes: number): void {
    this.code.emit(BPF_LD | BPF_ABS | SIZE_BITS[sizeBytes]!, 0, 0, 0, this.#immediate(offsetBytes, 32));
  }
  /** `r0 = *(u32 *)skb[r3]` */
  loadPacketAt(sizeBytes: 1 | 2 | 4, index: Register, offsetBytes = 0): void {
    this.code.emit(
      BPF_LD | BPF_IND | SIZE_BITS[sizeBytes]!,
      0,
      index.number,
      0,
      this.#immediate(offsetBytes, 32),
    );
  }

  // Flow.

  /** What follows can be jumped to by this name. */
  label(name: string): void {
    this.code.place(this.code.named(name));
  }
  /** `goto name`, as far as it takes (beyond 32,767 slots cpu v4) */
  jump(name: string): void {
    this.code.jump(this.code.named(name));
  }
  /** `gotol name`: the long form in any case (cpu v4) */
  jumpLong(name: string): void {
    this.code.emitJump(this.code.named(name), 'immediate', BPF_JMP32 | BPF_JA);
  }
  /** `if r1 s> r2 goto name`, `if w1 == 5 goto name` */
  jumpIf(left: Register, comparison: Comparison, right: Register | number, name: string): void {
    this.compareAndJump(left, comparison, right, this.code.named(name));
  }
  /**
   * `may_goto name`: falls through until the kernel has counted enough repetitions, then jumps (Linux 6.9)
   */
  mayJump(name: string): void {
    this.code.emitJump(this.code.named(name), 'offset', BPF_JMP | BPF_JCOND);
  }
  /** `call 14`: a helper by number; asm.call() takes names and arguments */
  callHelper(number: number): void {
    this.called();
    this.code.emit(BPF_JMP | BPF_CALL, 0, 0, 0, this.#immediate(number, 32));
  }
  /** `call name`: a function of this program, with a stack frame of its own */
  callFunction(name: string): void {
    this.called();
    this.code.emitJump(this.code.named(name), 'immediate', BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL);
  }
  /**
   * `r2 = name ll`: the address of a function of this program, for a helper that calls it back (needs BTF)
   */
  loadFunctionAddress(destination: Register, name: string): void {
    this.#wholeOnly(destination);
    this.written(destination);
    this.code.emitJump(
      this.code.named(name),
      'immediate',
      BPF_LD | BPF_DW | BPF_IMM,
      destination.number,
      BPF_PSEUDO_FUNC,
    );
    this.code.emit(0);
  }
  /** `call 1234` of a kernel function by its BTF id */
  callKernelFunction(btfId: number): void {
    this.called();
    this.code.emit(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, this.#immediate(btfId, 32));
  }
  /** `exit`: r0 is the result */
  exit(): void {
    this.code.emit(BPF_JMP | BPF_EXIT);
  }

  /** A register is written. The class above keeps book of it; here it must not be the frame pointer. */
  protected written(destination: Register): Register {
    if (destination.number === BPF_REG_FP)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        'r10 is the frame pointer and cannot be written',
        'Copy it: asm.move(r2, r10).',
      );
    return destination;
  }

  /** r1 to r5 are lost here. */
  protected called(): void {}

  /** `if (left COMPARISON right) goto label` */
  protected compareAndJump(
    left: Register,
    comparison: Comparison,
    right: Register | number,
    label: ReturnType<ProgramWriter['named']>,
  ): void {
    const operation = COMPARISONS[comparison];
    if (operation === undefined)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `"${String(comparison)}" is no comparison`,
        `Comparisons are ${Object.keys(COMPARISONS).join(' ')}.`,
      );
    const kind = left.bits === 64 ? BPF_JMP : BPF_JMP32;
    if (typeof right === 'object') {
      this.#sameWidth(left, right);
      this.code.emitJump(label, 'offset', kind | operation | BPF_X, left.number, right.number);
    } else {
      this.code.emitJump(
        label,
        'offset',
        kind | operation | BPF_K,
        left.number,
        0,
        this.#immediate(right, left.bits),
      );
    }
  }

  #alu(operation: number, destination: Register, source: Register | number, offset = 0): void {
    this.written(destination);
    const opcode = aluClass(destination) | operation;
    if (typeof source === 'object') {
      this.#sameWidth(destination, source);
      this.code.emit(opcode | BPF_X, destination.number, source.number, offset);
    } else {
      this.code.emit(
        opcode | BPF_K,
        destination.number,
        0,
        offset,
        this.#immediate(source, destination.bits),
      );
    }
  }

  #shift(operation: number, destination: Register, source: Register | number): void {
    if (typeof source === 'number' && (source < 0 || source >= destination.bits))
      throw this.code.error(
        'ERR_BPF_IMMEDIATE',
        `${registerName(destination)} is shifted by ${source}`,
        `Give a shift from 0 to ${destination.bits - 1}.`,
      );
    this.#alu(operation, destination, source);
  }

  #byteOrder(opcode: number, destination: Register, bits: number): void {
    this.#wholeOnly(destination);
    this.written(destination);
    this.code.emit(opcode, destination.number, 0, 0, bits);
  }

  #atomic(operation: number, to: MemoryOperand, source: Register): void {
    if (to.sizeBytes < 4)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `an atomic operation on ${to.sizeBytes} bytes`,
        'Use 4 or 8 bytes.',
      );
    const size = this.#access(to);
    if (to.sizeBytes === 8) this.#wholeOnly(source);
    this.code.emit(BPF_STX | BPF_ATOMIC | size, to.base.number, source.number, to.offsetBytes, operation);
  }

  /** Size bits of an access, once it is known to be possible. */
  #access({ base, offsetBytes, sizeBytes }: MemoryOperand): number {
    const bits = SIZE_BITS[sizeBytes];
    if (bits === undefined)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `a load or store of ${sizeBytes} bytes`,
        'One instruction moves 1, 2, 4 or 8 bytes.',
      );
    this.#wholeOnly(base);
    if (offsetBytes < -0x8000 || offsetBytes > 0x7fff || !Number.isInteger(offsetBytes))
      throw this.code.error(
        'ERR_BPF_IMMEDIATE',
        `the offset ${offsetBytes} has more than 16 bits`,
        'Add it to the register first.',
      );
    return bits;
  }

  #wholeOnly(register: Register): void {
    if (register.bits !== 64)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `${registerName(register)} is half a register`,
        `Here it must be r${register.number}.`,
      );
  }

  #sameWidth(left: Register, right: Register): void {
    if (left.bits !== right.bits)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `${registerName(left)} and ${registerName(right)} have different widths`,
        'Use two r registers or two w registers.',
      );
  }

  /** A number as the 32 bits of an instruction: extended by its sign where the operation has 64 bits. */
  #immediate(value: number, bits: number): number {
    const most = bits === 64 ? 0x7fffffff : 2 ** bits - 1;
    const least = -(2 ** (Math.min(bits, 32) - 1));
    if (!Number.isInteger(value))
      throw this.code.error('ERR_BPF_IMMEDIATE', `${String(value)} is not a whole number`, 'Round it.');
    if (value < least || value > most)
      throw this.code.error(
        'ERR_BPF_IMMEDIATE',
        `${value} does not fit: an operand of ${bits} bits must be from ${least} to ${most}`,
        bits === 64
          ? 'Put it into a register first: asm.move(r1, value) takes any number.'
          : 'Give a number in that range.',
      );
    return value | 0;
  }
}

function aluClass(destination: Register): number {
  return destination.bits === 64 ? BPF_ALU64 : BPF_ALU;
}

function notZero(code: ProgramWriter, source: Register | number): Register | number {
  if (source === 0) throw code.error('ERR_BPF_IMMEDIATE', 'a division by 0', 'Divide by another number.');
  return source;
}

function wholeNumber(code: ProgramWriter, value: number | bigint): bigint {
  if (typeof value === 'bigint') return value;
  if (!Number.isSafeInteger(value))
    throw code.error(
      'ERR_BPF_IMMEDIATE',
      `${value} is not a whole number that a JavaScript number holds exactly`,
      'Write it as a bigint: 0x1122334455667788n.',
    );
  return BigInt(value);
}
