/**
 * A program as text, in the syntax of LLVM's assembler (so that a test can assemble it again); what only a
 * person needs stands behind a `#`, which begins a comment there. Any bytes have a text: what is no
 * instruction is shown as its number.
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
  BPF_CLASS_MASK,
  BPF_CMPXCHG,
  BPF_DIV,
  BPF_DW,
  BPF_END,
  BPF_EXIT,
  BPF_FETCH,
  BPF_H,
  BPF_HELPERS,
  BPF_IND,
  BPF_JA,
  BPF_JCOND,
  BPF_JMP,
  BPF_JMP32,
  BPF_LD,
  BPF_LDX,
  BPF_LOAD_ACQ,
  BPF_LSH,
  BPF_MEM,
  BPF_MEMSX,
  BPF_MOD,
  BPF_MODE_MASK,
  BPF_MOV,
  BPF_MUL,
  BPF_NEG,
  BPF_OPERATION_MASK,
  BPF_OR,
  BPF_PSEUDO_CALL,
  BPF_PSEUDO_FUNC,
  BPF_PSEUDO_KFUNC_CALL,
  BPF_RSH,
  BPF_SIGNED_OFFSET,
  BPF_SIZE_MASK,
  BPF_SOURCE_MASK,
  BPF_ST,
  BPF_STORE_REL,
  BPF_STX,
  BPF_SUB,
  BPF_W,
  BPF_X,
  BPF_XCHG,
  BPF_XOR,
} from '@counterpoint/core/abi';
import { checkIndex, checkInstructions } from './checks.ts';
import { COMPARISONS } from './instruction-set.ts';
import type { BpfMapReference, BpfProgram, SourceLine } from './program.ts';
import { decodeSlots, type Slot, WIDE_IMMEDIATE } from './slots.ts';

/** An instruction as text. */
export interface DisassembledInstruction {
  /** The first of its slots; the kernel's messages count in slots too. */
  readonly slot: number;
  /** `r1 = *(u32 *)(r6 + 16)` */
  readonly text: string;
  /** Where a jump goes, which helper is called, which map it is; empty where there is nothing to say. */
  readonly comment: string;
  /** The line that asked for it; null where it is not known. */
  readonly line: SourceLine | null;
}

/** What of a program a listing needs; bytes alone will do. */
export type Disassemblable = Pick<BpfProgram, 'instructions'> &
  Partial<Pick<BpfProgram, 'mapReferences' | 'lines'>>;

const OPERATORS: ReadonlyMap<number, string> = new Map([
  [BPF_ADD, '+='],
  [BPF_SUB, '-='],
  [BPF_MUL, '*='],
  [BPF_DIV, '/='],
  [BPF_OR, '|='],
  [BPF_AND, '&='],
  [BPF_LSH, '<<='],
  [BPF_RSH, '>>='],
  [BPF_MOD, '%='],
  [BPF_XOR, '^='],
  [BPF_ARSH, 's>>='],
]);
const COMPARISON_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(COMPARISONS).map(([name, operation]) => [operation, name]),
);
const HELPER_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(BPF_HELPERS).map(([name, [number]]) => [number, name]),
);
const ATOMIC_NAMES: ReadonlyMap<number, string> = new Map([
  [BPF_ADD, 'add'],
  [BPF_OR, 'or'],
  [BPF_AND, 'and'],
  [BPF_XOR, 'xor'],
]);
const SIZE_BITS: ReadonlyMap<number, number> = new Map([
  [BPF_B, 8],
  [BPF_H, 16],
  [BPF_W, 32],
  [BPF_DW, 64],
]);

/** Every instruction in order. */
export function disassemble(program: Disassemblable): DisassembledInstruction[] {
  checkInstructions('disassemble()', program);
  const slots = decodeSlots(program.instructions);
  const references = new Map(program.mapReferences?.map((reference) => [reference.instruction, reference]));
  const instructions: DisassembledInstruction[] = [];
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at]!;
    const isWide = slot.opcode === WIDE_IMMEDIATE && at + 1 < slots.length;
    const [text, comment = ''] = isWide
      ? wideText(slot, slots[at + 1]!, at, references.get(at))
      : (slotText(slot, at) ?? [`unknown 0x${slot.opcode.toString(16).padStart(2, '0')}`]);
    instructions.push({ slot: at, text, comment, line: program.lines?.[at] ?? null });
    if (isWide) at++;
  }
  return instructions;
}

/** The instruction that a slot belongs to: what a message of the kernel is about. */
export function disassembleSlot(program: Disassemblable, slot: number): DisassembledInstruction | null {
  checkInstructions('disassembleSlot()', program);
  checkIndex('disassembleSlot()', slot);
  return disassemble(program).findLast((instruction) => instruction.slot <= slot) ?? null;
}

/** A listing to read: slot, instruction, comment. */
export function formatListing(program: Disassemblable): string {
  checkInstructions('formatListing()', program);
  return disassemble(program)
    .map(
      ({ slot, text, comment }) =>
        `${String(slot).padStart(5)}: ${comment === '' ? text : `${text.padEnd(34)} # ${comment}`}\n`,
    )
    .join('');
}

type Text = readonly [text: string, comment?: string | undefined];

function wideText(slot: Slot, next: Slot, at: number, reference: BpfMapReference | undefined): Text {
  const to = `r${slot.destination}`;
  if (reference !== undefined)
    return reference.kind === 'descriptor'
      ? [`${to} = ${reference.map} ll`, 'map']
      : [`${to} = ${reference.map} + ${reference.offsetBytes} ll`, 'value of map'];
  if (slot.source === BPF_PSEUDO_FUNC) return [`${to} = function ll`, `at ${at + 1 + slot.immediate}`];
  const value = (BigInt(next.immediate) << 32n) | BigInt(slot.immediate >>> 0);
  return [`${to} = ${value} ll`, slot.source === 0 ? undefined : `source ${slot.source}`];
}

function slotText(slot: Slot, at: number): Text | null {
  switch (slot.opcode & BPF_CLASS_MASK) {
    case BPF_ALU:
    case BPF_ALU64:
      return aluText(slot);
    case BPF_JMP:
    case BPF_JMP32:
      return jumpText(slot, at);
    case BPF_LD:
      return packetText(slot);
    default:
      return memoryText(slot);
  }
}

function aluText(slot: Slot): Text | null {
  const is64 = (slot.opcode & BPF_CLASS_MASK) === BPF_ALU64;
  const r = is64 ? 'r' : 'w';
  const to = `${r}${slot.destination}`;
  const isRegister = (slot.opcode & BPF_SOURCE_MASK) === BPF_X;
  const from = isRegister ? `${r}${slot.source}` : String(slot.immediate);
  const operation = slot.opcode & BPF_OPERATION_MASK;
  switch (operation) {
    case BPF_NEG:
      return isRegister ? null : [`${to} = -${to}`];
    case BPF_END: {
      const order = is64 ? 'bswap' : isRegister ? 'be' : 'le';
      return is64 && isRegister
        ? null
        : [`r${slot.destination} = ${order}${slot.immediate} r${slot.destination}`];
    }
    case BPF_MOV:
      if (slot.offset === 0) return [`${to} = ${from}`];
      if (!isRegister) return null;
      if (slot.offset === BPF_ADDRESS_SPACE_CAST_OFFSET)
        return [`${to} = addr_space_cast(${from}, ${slot.immediate >>> 16}, ${slot.immediate & 0xffff})`];
      return [`${to} = (s${slot.offset})${from}`];
    case BPF_DIV:
    case BPF_MOD: {
      const sign = slot.offset === BPF_SIGNED_OFFSET ? 's' : '';
      return [`${to} ${sign}${OPERATORS.get(operation)} ${from}`];
    }
    default: {
      const operator = OPERATORS.get(operation);
      return operator === undefined ? null : [`${to} ${operator} ${from}`];
    }
  }
}

function jumpText(slot: Slot, at: number): Text | null {
  const is64 = (slot.opcode & BPF_CLASS_MASK) === BPF_JMP;
  const isRegister = (slot.opcode & BPF_SOURCE_MASK) === BPF_X;
  const operation = slot.opcode & BPF_OPERATION_MASK;
  const target = `to ${at + 1 + slot.offset}`;
  switch (operation) {
    case BPF_JA:
      if (isRegister) return null;
      return is64
        ? [`goto ${signed(slot.offset)}`, target]
        : [`gotol ${signed(slot.immediate)}`, `to ${at + 1 + slot.immediate}`];
    case BPF_CALL:
      return is64 ? callText(slot, at, isRegister) : null;
    case BPF_EXIT:
      return is64 && !isRegister ? ['exit'] : null;
    case BPF_JCOND:
      return is64 && !isRegister ? [`may_goto ${signed(slot.offset)}`, target] : null;
  }
  const comparison = COMPARISON_NAMES.get(operation);
  if (comparison === undefined) return null;
  const r = is64 ? 'r' : 'w';
  const right = isRegister ? `${r}${slot.source}` : String(slot.immediate);
  return [`if ${r}${slot.destination} ${comparison} ${right} goto ${signed(slot.offset)}`, target];
}

function callText(slot: Slot, at: number, isRegister: boolean): Text {
  if (isRegister) return [`callx r${slot.destination}`];
  if (slot.source === BPF_PSEUDO_CALL)
    return [`call ${slot.immediate}`, `function at ${at + 1 + slot.immediate}`];
  if (slot.source === BPF_PSEUDO_KFUNC_CALL) return [`call ${slot.immediate}`, 'kernel function'];
  return [`call ${slot.immediate}`, HELPER_NAMES.get(slot.immediate) ?? 'no known helper'];
}

function packetText(slot: Slot): Text | null {
  const bits = SIZE_BITS.get(slot.opcode & BPF_SIZE_MASK)!;
  const mode = slot.opcode & BPF_MODE_MASK;
  if (mode === BPF_ABS) return [`r0 = *(u${bits} *)skb[${slot.immediate}]`];
  if (mode !== BPF_IND) return null;
  return [
    `r0 = *(u${bits} *)skb[r${slot.source}]`,
    slot.immediate === 0 ? undefined : `at ${slot.immediate} more`,
  ];
}

function memoryText(slot: Slot): Text | null {
  const kind = slot.opcode & BPF_CLASS_MASK;
  const mode = slot.opcode & BPF_MODE_MASK;
  const bits = SIZE_BITS.get(slot.opcode & BPF_SIZE_MASK)!;
  const place = (base: number) => `(r${base} ${slot.offset < 0 ? '-' : '+'} ${Math.abs(slot.offset)})`;
  // Up to 32 bits the narrow register says the same; LLVM writes it so.
  const r = bits === 64 ? 'r' : 'w';
  if (kind === BPF_LDX && mode === BPF_MEM)
    return [`${r}${slot.destination} = *(u${bits} *)${place(slot.source)}`];
  if (kind === BPF_LDX && mode === BPF_MEMSX && bits < 64)
    return [`r${slot.destination} = *(s${bits} *)${place(slot.source)}`];
  const to = `*(u${bits} *)${place(slot.destination)}`;
  if (kind === BPF_ST && mode === BPF_MEM) return [`${to} = ${slot.immediate}`];
  if (kind === BPF_STX && mode === BPF_MEM) return [`${to} = ${r}${slot.source}`];
  if (kind !== BPF_STX || mode !== BPF_ATOMIC) return null;
  return atomicText(slot, bits, place);
}

function atomicText(slot: Slot, bits: number, place: (base: number) => string): Text | null {
  const r = bits === 64 ? 'r' : 'w';
  const source = `${r}${slot.source}`;
  if (slot.immediate === BPF_LOAD_ACQ)
    return [`${r}${slot.destination} = load_acquire((u${bits} *)${place(slot.source)})`];
  if (slot.immediate === BPF_STORE_REL)
    return [`store_release((u${bits} *)${place(slot.destination)}, ${source})`];
  if (bits < 32) return null;
  const suffix = bits === 64 ? '_64' : '32_32';
  // Without the parentheses: xchg and cmpxchg have their own.
  const at = place(slot.destination).slice(1, -1);
  if (slot.immediate === BPF_XCHG) return [`${source} = xchg${suffix}(${at}, ${source})`];
  if (slot.immediate === BPF_CMPXCHG) return [`${r}0 = cmpxchg${suffix}(${at}, ${r}0, ${source})`];
  const operation = slot.immediate & ~BPF_FETCH;
  const name = ATOMIC_NAMES.get(operation);
  if (name === undefined) return null;
  if ((slot.immediate & BPF_FETCH) !== 0)
    return [`${source} = atomic_fetch_${name}((u${bits} *)${place(slot.destination)}, ${source})`];
  return [`lock *(u${bits} *)${place(slot.destination)} ${OPERATORS.get(operation)} ${source}`];
}

function signed(value: number): string {
  return value < 0 ? String(value) : `+${value}`;
}
