import { DwarfCursor } from '../elf/index.ts';
import * as cfi from './cfi-facts.ts';
import { type FrameEntry, type FrameSection, readPointer } from './frame-entries.ts';

/** How a caller's register is found. */
export const REGISTER_SAME = 0;
export const REGISTER_UNDEFINED = 1;
/** In memory at CFA + value. */
export const REGISTER_AT_OFFSET = 2;
/** It is CFA + value. */
export const REGISTER_IS_OFFSET = 3;
/** In the register `value`. */
export const REGISTER_IN_REGISTER = 4;
/** In memory where the expression says; the expression's value. `value` is a place in `expressions`. */
export const REGISTER_AT_EXPRESSION = 5;
export const REGISTER_IS_EXPRESSION = 6;

/** How the caller's registers are found from those of a function, at one of its instructions. */
export interface UnwindRule {
  /** The frame's address (CFA) is this register and the offset; -1: what `expressions[cfaOffset]` says. */
  readonly cfaRegister: number;
  readonly cfaOffset: number;
  /** Registers that change: number, one of `REGISTER_*`, value. */
  readonly registers: Int32Array;
  readonly expressions: readonly Uint8Array<ArrayBuffer>[];
  /** Which register has the caller's address. */
  readonly returnColumn: number;
  readonly isSignalFrame: boolean;
}

/** Registers beyond it (vectors) are never a frame's base, and are not followed. */
const MOST_REGISTERS = 40;
const MOST_REMEMBERED = 64;

/** A row of the table that the instructions make. */
export class FrameRow {
  cfaRegister = 0;
  cfaOffset = 0;
  readonly kinds = new Uint8Array(MOST_REGISTERS);
  readonly values = new Int32Array(MOST_REGISTERS);

  copyFrom(other: FrameRow): void {
    this.cfaRegister = other.cfaRegister;
    this.cfaOffset = other.cfaOffset;
    this.kinds.set(other.kinds);
    this.values.set(other.values);
  }

  set(register: number, kind: number, value: number): void {
    if (register >= MOST_REGISTERS) return;
    this.kinds[register] = kind;
    this.values[register] = value;
  }
}

/** Runs the instructions of an FDE up to `address`. Null if they are damaged. */
export function ruleAt(section: FrameSection, entry: FrameEntry, address: number): UnwindRule | null {
  return new FrameProgram(section, entry, address).run();
}

/** A row, and the instruction from which on it holds. *Borrowed*: until the next. */
export type VisitRow = (from: number, row: FrameRow, expressions: readonly Uint8Array<ArrayBuffer>[]) => void;

/** Visits every row of an FDE, in the order of the code; false where its instructions are damaged. */
export function visitRows(section: FrameSection, entry: FrameEntry, visit: VisitRow): boolean {
  return new FrameProgram(section, entry, Number.POSITIVE_INFINITY).visitRows(visit);
}

class FrameProgram {
  readonly #section: FrameSection;
  readonly #entry: FrameEntry;
  readonly #target: number;
  readonly #row = new FrameRow();
  readonly #initial = new FrameRow();
  readonly #remembered: FrameRow[] = [];
  readonly #expressions: Uint8Array<ArrayBuffer>[] = [];
  #location: number;
  #visit: VisitRow | null = null;

  constructor(section: FrameSection, entry: FrameEntry, target: number) {
    this.#section = section;
    this.#entry = entry;
    this.#target = target;
    this.#location = entry.start;
  }

  run(): UnwindRule | null {
    const { common, instructionsAt, instructionsEnd } = this.#entry;
    if (!this.#execute(common.instructionsAt, common.instructionsEnd)) return null;
    this.#initial.copyFrom(this.#row);
    if (!this.#execute(instructionsAt, instructionsEnd)) return null;
    const { cfaRegister, cfaOffset, kinds, values } = this.#row;
    const registers: number[] = [];
    kinds.forEach((kind, register) => {
      if (kind !== REGISTER_SAME) registers.push(register, kind, values[register]!);
    });
    return {
      cfaRegister,
      cfaOffset,
      registers: Int32Array.from(registers),
      expressions: this.#expressions,
      returnColumn: common.returnColumn,
      isSignalFrame: common.isSignalFrame,
    };
  }

  visitRows(visit: VisitRow): boolean {
    const { common, instructionsAt, instructionsEnd } = this.#entry;
    if (!this.#execute(common.instructionsAt, common.instructionsEnd)) return false;
    this.#initial.copyFrom(this.#row);
    this.#visit = visit;
    const isWhole = this.#execute(instructionsAt, instructionsEnd);
    visit(this.#location, this.#row, this.#expressions);
    return isWhole;
  }

  /** False where it is damaged. Ends early once the row of the target is there. */
  #execute(from: number, to: number): boolean {
    const { bytes, littleEndian } = this.#section;
    const cursor = new DwarfCursor(bytes, littleEndian, from, to);
    const { codeAlign, dataAlign } = this.#entry.common;
    const row = this.#row;
    while (cursor.at < cursor.end) {
      const code = cursor.u8();
      const operand = code & 0x3f;
      switch (code & cfi.DW_CFA_HIGH_BITS) {
        case cfi.DW_CFA_ADVANCE_LOC:
          if (!this.#advance(operand * codeAlign)) return !cursor.isDamaged;
          continue;
        case cfi.DW_CFA_OFFSET:
          row.set(operand, REGISTER_AT_OFFSET, cursor.uleb() * dataAlign);
          continue;
        case cfi.DW_CFA_RESTORE:
          this.#restore(operand);
          continue;
      }
      const goesOn = this.#extended(cursor, code, codeAlign, dataAlign);
      if (goesOn === null || cursor.isDamaged) return false;
      if (!goesOn) return true;
    }
    return !cursor.isDamaged;
  }

  /** False: the target's row is complete. Null: an instruction that nobody knows. */
  #extended(cursor: DwarfCursor, code: number, codeAlign: number, dataAlign: number): boolean | null {
    const row = this.#row;
    switch (code) {
      case cfi.DW_CFA_NOP:
      case cfi.DW_CFA_AARCH64_NEGATE_RA_STATE:
      case cfi.DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        return true;
      case cfi.DW_CFA_SET_LOC: {
        const { pointerEncoding } = this.#entry.common;
        return this.#advance(readPointer(cursor, pointerEncoding, this.#section, 0) - this.#location);
      }
      case cfi.DW_CFA_ADVANCE_LOC1:
        return this.#advance(cursor.u8() * codeAlign);
      case cfi.DW_CFA_ADVANCE_LOC2:
        return this.#advance(cursor.u16() * codeAlign);
      case cfi.DW_CFA_ADVANCE_LOC4:
        return this.#advance(cursor.u32() * codeAlign);
      case cfi.DW_CFA_OFFSET_EXTENDED:
        row.set(cursor.uleb(), REGISTER_AT_OFFSET, cursor.uleb() * dataAlign);
        return true;
      case cfi.DW_CFA_OFFSET_EXTENDED_SF:
        row.set(cursor.uleb(), REGISTER_AT_OFFSET, cursor.sleb() * dataAlign);
        return true;
      case cfi.DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        row.set(cursor.uleb(), REGISTER_AT_OFFSET, -cursor.uleb() * dataAlign);
        return true;
      case cfi.DW_CFA_VAL_OFFSET:
        row.set(cursor.uleb(), REGISTER_IS_OFFSET, cursor.uleb() * dataAlign);
        return true;
      case cfi.DW_CFA_VAL_OFFSET_SF:
        row.set(cursor.uleb(), REGISTER_IS_OFFSET, cursor.sleb() * dataAlign);
        return true;
      case cfi.DW_CFA_RESTORE_EXTENDED:
        this.#restore(cursor.uleb());
        return true;
      case cfi.DW_CFA_UNDEFINED:
        row.set(cursor.uleb(), REGISTER_UNDEFINED, 0);
        return true;
      case cfi.DW_CFA_SAME_VALUE:
        row.set(cursor.uleb(), REGISTER_SAME, 0);
        return true;
      case cfi.DW_CFA_REGISTER:
        row.set(cursor.uleb(), REGISTER_IN_REGISTER, cursor.uleb());
        return true;
      case cfi.DW_CFA_EXPRESSION:
        row.set(cursor.uleb(), REGISTER_AT_EXPRESSION, this.#expression(cursor));
        return true;
      case cfi.DW_CFA_VAL_EXPRESSION:
        row.set(cursor.uleb(), REGISTER_IS_EXPRESSION, this.#expression(cursor));
        return true;
      case cfi.DW_CFA_GNU_ARGS_SIZE:
        cursor.skipLeb();
        return true;
      case cfi.DW_CFA_REMEMBER_STATE:
      case cfi.DW_CFA_RESTORE_STATE:
        return this.#state(code) ? true : null;
      default:
        return this.#defineCfa(cursor, code, dataAlign) ? true : null;
    }
  }

  #defineCfa(cursor: DwarfCursor, code: number, dataAlign: number): boolean {
    const row = this.#row;
    switch (code) {
      case cfi.DW_CFA_DEF_CFA:
        row.cfaRegister = cursor.uleb();
        row.cfaOffset = cursor.uleb();
        return true;
      case cfi.DW_CFA_DEF_CFA_SF:
        row.cfaRegister = cursor.uleb();
        row.cfaOffset = cursor.sleb() * dataAlign;
        return true;
      // The next three change a part of what a register and an offset were; behind an
      // expression they mean nothing.
      case cfi.DW_CFA_DEF_CFA_REGISTER:
        if (row.cfaRegister < 0) return false;
        row.cfaRegister = cursor.uleb();
        return true;
      case cfi.DW_CFA_DEF_CFA_OFFSET:
        if (row.cfaRegister < 0) return false;
        row.cfaOffset = cursor.uleb();
        return true;
      case cfi.DW_CFA_DEF_CFA_OFFSET_SF:
        if (row.cfaRegister < 0) return false;
        row.cfaOffset = cursor.sleb() * dataAlign;
        return true;
      case cfi.DW_CFA_DEF_CFA_EXPRESSION:
        row.cfaRegister = -1;
        row.cfaOffset = this.#expression(cursor);
        return true;
      default:
        return false;
    }
  }

  /** The location goes on; false where the row so far is that of the target. */
  #advance(bytes: number): boolean {
    const next = this.#location + bytes;
    if (next > this.#target) return false;
    if (next !== this.#location) this.#visit?.(this.#location, this.#row, this.#expressions);
    this.#location = next;
    return true;
  }

  #restore(register: number): void {
    if (register >= MOST_REGISTERS) return;
    this.#row.set(register, this.#initial.kinds[register]!, this.#initial.values[register]!);
  }

  #state(code: number): boolean {
    if (code === cfi.DW_CFA_REMEMBER_STATE) {
      if (this.#remembered.length === MOST_REMEMBERED) return false;
      const copy = new FrameRow();
      copy.copyFrom(this.#row);
      this.#remembered.push(copy);
      return true;
    }
    const last = this.#remembered.pop();
    if (last === undefined) return false;
    this.#row.copyFrom(last);
    return true;
  }

  #expression(cursor: DwarfCursor): number {
    const size = cursor.uleb();
    const from = cursor.at;
    cursor.skip(size);
    return this.#expressions.push(cursor.bytes.subarray(from, cursor.at)) - 1;
  }
}
