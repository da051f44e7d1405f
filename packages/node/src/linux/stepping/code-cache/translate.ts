import {
  DETAIL_NAMES,
  decodeInstruction,
  Instruction,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_OTHER,
  KIND_RETURN,
  MODE_64,
} from '@counterpoint/trace/instructions';
import type { Block, Exit, Mark, Owed } from './block.ts';
import { Emitter, fits32 } from './emitter.ts';
import { hasAddressPrefix, prefixEnd, ripDisplacement } from './rip-relative.ts';
import { countBlock, type LogPlace, logBlock, saveRax } from './routines.ts';
import { SYSTEM_CALLS } from './zone-layout.ts';

/** The most instructions of one block. */
const MOST_INSTRUCTIONS = 64;
/** Room for a block: its instructions, and what stands before and behind them. */
export const MOST_BLOCK_BYTES = MOST_INSTRUCTIONS * 15 + 256;
/** Reads as much of the program as a block may take. */
export const MOST_SOURCE_BYTES = MOST_INSTRUCTIONS * 15 + 15;
const scratch = new Instruction();
const scratchBlock = new Emitter(MOST_BLOCK_BYTES);

export interface Place {
  /** Where the zone, the block and its counter are. */
  zone: number;
  start: number;
  counter: number;
  lookup: number;
  /** The block's number goes into this log, and no counter counts. */
  log: LogPlace | null;
}

export interface Translation {
  /** Borrowed until the next one. */
  code: Uint8Array;
  block: Block;
  exits: Exit[];
}

/**
 * Translates the instructions at `pc` up to the first branch or system call. `null`: the first one cannot be,
 * and a single step executes it.
 */
export function translate(source: Uint8Array, pc: number, place: Place): Translation | null {
  const out = scratchBlock.begin(place.start);
  const kinds: number[] = [];
  const lengths: number[] = [];
  const { log } = place;
  const countedFrom =
    log === null ? countBlock(out, place.zone, place.counter) : logBlock(out, place.zone, log);
  const body = out.address;
  let offset = 0;
  let end: TerminalKind = 'goes on';
  while (kinds.length < MOST_INSTRUCTIONS) {
    const length = decodeInstruction(source, offset, source.length, MODE_64, scratch);
    const kind = length <= 0 ? 'unknown' : terminalKind(source, offset, scratch);
    if (kind === 'unknown') break;
    if (kind === 'copied' && !copyInstruction(out, source, offset, length, pc)) break;
    kinds.push(scratch.kind);
    lengths.push(length);
    offset += length;
    if (kind !== 'copied') {
      end = kind;
      break;
    }
  }
  if (kinds.length === 0) return null;
  const bodyEnd = out.address;
  const terminal = new Terminal(out, place, pc + offset, kinds.length);
  const lastLength = lengths.at(-1)!;
  const isWritten = terminal.emit(end, source, offset - lastLength, lastLength, scratch.displacement);
  if (!isWritten) return null;
  const block: Block = {
    pc,
    // Before a block that is logged there is the trap for a full log.
    start: place.start + (log === null ? 0 : 1),
    countedFrom,
    body,
    bodyEnd,
    end: out.address,
    marks: terminal.marks,
    kinds: Uint8Array.from(kinds),
    lengths: Uint8Array.from(lengths),
    counter: place.counter,
  };
  const exits = terminal.exits.map((exit) => ({ ...exit, block }));
  return { code: out.code, block, exits };
}

type TerminalKind =
  | 'goes on'
  | 'jump'
  | 'conditional'
  | 'call'
  | 'indirect call'
  | 'indirect jump'
  | 'return'
  | 'system call';

function terminalKind(
  source: Uint8Array,
  offset: number,
  { kind, detail, pointerBits }: Instruction,
): TerminalKind | 'copied' | 'unknown' {
  const name = DETAIL_NAMES[detail]!;
  if (name === 'syscall') return 'system call';
  if (name === 'xbegin' || name === 'xabort' || name === 'xend' || name === 'hlt') return 'unknown';
  if (kind === KIND_OTHER) return 'copied';
  // With 16-bit operands, vendors differ.
  const end = prefixEnd(source, offset);
  for (let at = offset; at < end; at++) if (source[at] === 0x66) return 'unknown';
  if (pointerBits !== 64 || name === 'jmpabs' || source[end] === 0xd5) return 'unknown';
  switch (kind) {
    case KIND_JUMP:
      return 'jump';
    case KIND_CONDITIONAL:
      return 'conditional';
    case KIND_CALL:
      return 'call';
    case KIND_CALL_INDIRECT:
      return 'indirect call';
    case KIND_JUMP_INDIRECT:
      return 'indirect jump';
    case KIND_RETURN:
      return 'return';
    default:
      return 'unknown';
  }
}

/** False when its operand is out of reach. */
function copyInstruction(
  out: Emitter,
  source: Uint8Array,
  offset: number,
  length: number,
  pc: number,
): boolean {
  const displacement = ripDisplacement(source, offset, length);
  const at = out.size;
  if (displacement === 0) {
    out.copy(source, offset, offset + length);
    return true;
  }
  const moved = pc + offset - out.address + readInt32(source, offset + displacement);
  if (hasAddressPrefix(source, offset) || !fits32(moved)) return false;
  out.copy(source, offset, offset + length);
  out.setInt32(at + displacement, moved);
  return true;
}

export function readInt32(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** What stands behind the copied instructions. */
class Terminal {
  readonly marks: Mark[] = [];
  readonly exits: Omit<Exit, 'block'>[] = [];
  readonly #out: Emitter;
  readonly #place: Place;
  /** Address of the instruction behind the block. */
  readonly #next: number;
  readonly #count: number;

  constructor(out: Emitter, place: Place, next: number, count: number) {
    this.#out = out;
    this.#place = place;
    this.#next = next;
    this.#count = count;
  }

  emit(end: TerminalKind, source: Uint8Array, offset: number, length: number, displacement: number): boolean {
    const target = this.#next + displacement;
    const pc = this.#next - length;
    const before = this.#count - 1;
    switch (end) {
      case 'goes on':
        this.#exit(this.#next, 0);
        return true;
      case 'jump':
        this.#mark(pc, before);
        this.#exit(target, 0);
        return true;
      case 'conditional':
        this.#mark(pc, before);
        this.#conditional(source, offset, target);
        return true;
      case 'call':
        this.#mark(pc, before);
        this.#call(target);
        return true;
      case 'indirect call':
      case 'indirect jump':
        this.#mark(pc, before);
        saveRax(this.#out, this.#place.zone);
        this.#mark(pc, before);
        if (!this.#loadOperand(source, offset, length, pc)) return false;
        if (end === 'indirect call') this.#pushReturnAddress(pc);
        else this.#jumpToLookup();
        return true;
      case 'return':
        this.#mark(pc, before);
        this.#return(source, offset, pc);
        return true;
      case 'system call':
        this.#mark(pc, before);
        this.#systemCall(pc);
        return true;
    }
  }

  #mark(pc: number, done: number, owes: Owed = 'nothing'): void {
    this.marks.push({ address: this.#out.address, pc, done, owes });
  }

  /** A trap that becomes a jump when its target has a block. */
  #exit(pc: number, jumpAt: number): void {
    this.#mark(pc, this.#count);
    this.exits.push({ address: this.#out.address, kind: 'direct', pc, jumpAt });
    this.#out.bytes(0xcc, 0, 0, 0, 0);
  }

  #conditional(source: Uint8Array, offset: number, target: number): void {
    const out = this.#out;
    const opcodeAt = this.#opcode(source, offset);
    const opcode = source[opcodeAt]!;
    if (opcode >= 0xe0 && opcode <= 0xe3) {
      // These reach 127 bytes at most: over the exit of the way on.
      if (hasAddressPrefix(source, offset)) out.bytes(0x67);
      out.bytes(opcode, 5);
      this.#exit(this.#next, 0);
      this.#exit(target, 0);
      return;
    }
    out.bytes(0x0f, 0x80 | ((opcode === 0x0f ? source[opcodeAt + 1]! : opcode) & 0x0f));
    const distance = out.openDistance();
    const jumpAt = out.address - 4;
    this.#exit(this.#next, 0);
    out.setDistance(distance, out.address);
    this.#exit(target, jumpAt);
  }

  #call(target: number): void {
    const out = this.#out;
    // push RETURN(%rip)
    out.bytes(0xff, 0x35);
    const distance = out.openDistance();
    this.#exit(target, 0);
    this.#literal(distance);
  }

  /** rax is the target already. */
  #pushReturnAddress(pc: number): void {
    // Where the stack ends, the program stands at its call.
    this.#mark(pc, this.#count - 1, 'rax');
    this.#out.bytes(0xff, 0x35);
    const distance = this.#out.openDistance();
    this.#jumpToLookup();
    this.#literal(distance);
  }

  #literal(distance: number): void {
    this.#out.align(8);
    this.#out.setDistance(distance, this.#out.address);
    this.#out.address64(this.#next);
  }

  #jumpToLookup(): void {
    this.#out.bytes(0xe9);
    this.#out.distance(this.#place.lookup);
  }

  /** mov OPERAND,%rax, of the operand of an indirect call or jump. */
  #loadOperand(source: Uint8Array, offset: number, length: number, pc: number): boolean {
    const out = this.#out;
    const end = prefixEnd(source, offset);
    for (let at = offset; at < end; at++) {
      const prefix = source[at]!;
      if (prefix === 0x64 || prefix === 0x65 || prefix === 0x67) out.bytes(prefix);
    }
    const rex = (source[end]! & 0xf0) === 0x40 ? source[end]! & 3 : 0;
    const modrmAt = this.#opcode(source, offset) + 1;
    out.bytes(0x48 | rex, 0x8b, source[modrmAt]! & 0xc7);
    const displacement = ripDisplacement(source, offset, length);
    if (displacement === 0) {
      out.copy(source, modrmAt + 1, offset + length);
      return true;
    }
    const target = pc + length + readInt32(source, offset + displacement);
    if (hasAddressPrefix(source, offset) || !fits32(target - (out.address + 4))) return false;
    out.distance(target);
    return true;
  }

  #return(source: Uint8Array, offset: number, pc: number): void {
    const out = this.#out;
    saveRax(out, this.#place.zone);
    this.#mark(pc, this.#count - 1);
    // pop %rax
    out.bytes(0x58);
    const opcodeAt = this.#opcode(source, offset);
    if (source[opcodeAt] === 0xc2) {
      // lea N(%rsp),%rsp
      out.bytes(0x48, 0x8d, 0xa4, 0x24, source[opcodeAt + 1]!, source[opcodeAt + 2]!, 0, 0);
    }
    this.#jumpToLookup();
  }

  /** rcx and r11 are the kernel's to change: the choice takes them. */
  #systemCall(pc: number): void {
    const out = this.#out;
    // movzwl %ax,%ecx; lea SYSTEM_CALLS(%rip),%r11; movzbl (%r11,%rcx),%ecx; jrcxz 1f; int3; 1: syscall
    out.bytes(0x0f, 0xb7, 0xc8);
    out.bytes(0x4c, 0x8d, 0x1d);
    out.distance(this.#place.zone + SYSTEM_CALLS);
    out.bytes(0x41, 0x0f, 0xb6, 0x0c, 0x0b);
    out.bytes(0xe3, 0x01);
    this.#mark(pc, this.#count - 1);
    this.exits.push({ address: out.address, kind: 'system call', pc, jumpAt: 0 });
    out.bytes(0xcc);
    this.#mark(pc, this.#count - 1);
    out.bytes(0x0f, 0x05);
    this.#mark(this.#next, this.#count, 'rcx');
    // mov NEXT(%rip),%rcx
    out.bytes(0x48, 0x8b, 0x0d);
    const distance = out.openDistance();
    this.#exit(this.#next, 0);
    this.#literal(distance);
  }

  #opcode(source: Uint8Array, offset: number): number {
    const end = prefixEnd(source, offset);
    return (source[end]! & 0xf0) === 0x40 ? end + 1 : end;
  }
}
