import type { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import {
  DW_FORM_ADDR,
  DW_FORM_ADDRX,
  DW_FORM_ADDRX1,
  DW_FORM_ADDRX2,
  DW_FORM_ADDRX3,
  DW_FORM_ADDRX4,
  DW_FORM_DATA1,
  DW_FORM_DATA2,
  DW_FORM_DATA4,
  DW_FORM_DATA8,
  DW_FORM_GNU_ADDR_INDEX,
  DW_FORM_GNU_REF_ALT,
  DW_FORM_GNU_STR_INDEX,
  DW_FORM_GNU_STRP_ALT,
  DW_FORM_IMPLICIT_CONST,
  DW_FORM_INDIRECT,
  DW_FORM_LINE_STRP,
  DW_FORM_REF_ADDR,
  DW_FORM_REF_SUP4,
  DW_FORM_REF_SUP8,
  DW_FORM_REF_UDATA,
  DW_FORM_REF1,
  DW_FORM_REF2,
  DW_FORM_REF4,
  DW_FORM_REF8,
  DW_FORM_RNGLISTX,
  DW_FORM_SDATA,
  DW_FORM_SEC_OFFSET,
  DW_FORM_STRING,
  DW_FORM_STRP,
  DW_FORM_STRP_SUP,
  DW_FORM_STRX,
  DW_FORM_STRX1,
  DW_FORM_STRX2,
  DW_FORM_STRX3,
  DW_FORM_STRX4,
  DW_FORM_UDATA,
} from '../dwarf/dwarf-facts.ts';
import { LONGEST_PATH } from '../dwarf/unit-folders.ts';
import { type ElfNames, stringAt } from '../strings.ts';
import { numberAt } from './debug-sections.ts';
import { skipAnyForm } from './skip-plan.ts';
import type { Unit, UnitBases } from './unit-facts.ts';

/** An entry that another one names. */
export interface Reference {
  /** In the section of entries. */
  readonly offset: number;
  /** In the file that several binaries share (dwz), not in this one. */
  readonly isShared: boolean;
}

/**
 * Values of attributes, as what they mean: the forms of each class (DWARF 5, section 7.5.5). Each method goes
 * behind the value, also where it is of another class.
 */
export class ValueReader {
  readonly cursor: DwarfCursor;
  readonly #unit: Unit;
  bases: UnitBases;

  constructor(unit: Unit, cursor: DwarfCursor) {
    this.#unit = unit;
    this.bases = unit.bases;
    this.cursor = cursor;
  }

  skip(form: number): void {
    skipAnyForm(this.cursor, form, this.#unit.format);
  }

  /** NaN where it is none, or not known. */
  address(form: number): number {
    const { cursor } = this;
    const { addressSize } = this.#unit.format;
    if (form === DW_FORM_ADDR) return addressSize === 8 ? cursor.i64() : cursor.u32();
    const index = this.#addressIndex(form);
    if (index >= 0) return this.addressAt(index);
    this.skip(form);
    return Number.NaN;
  }

  /** The address with a number, of the table of the unit. */
  addressAt(index: number): number {
    const { home, format } = this.#unit;
    const at = this.bases.addresses + index * format.addressSize;
    return numberAt(home.addresses, at, format.addressSize, home.littleEndian);
  }

  /** The address behind the last: written as such, or as a size. */
  endAddress(form: number, implicit: number, start: number): number {
    if (form === DW_FORM_ADDR || this.#isAddressIndex(form)) return this.address(form);
    return start + this.constant(form, implicit);
  }

  /** A number, or an offset of a section. NaN where it is none. */
  constant(form: number, implicit: number): number {
    const { cursor } = this;
    switch (form) {
      case DW_FORM_DATA1:
        return cursor.u8();
      case DW_FORM_DATA2:
        return cursor.u16();
      case DW_FORM_DATA4:
        return cursor.u32();
      case DW_FORM_DATA8:
        return cursor.u64();
      case DW_FORM_UDATA:
      case DW_FORM_RNGLISTX:
        return cursor.uleb();
      case DW_FORM_SDATA:
        return cursor.sleb();
      case DW_FORM_SEC_OFFSET:
        return cursor.offset(this.#unit.format.is64);
      case DW_FORM_IMPLICIT_CONST:
        return implicit;
      case DW_FORM_INDIRECT:
        return this.constant(cursor.uleb() & 0xff, 0);
      default:
        this.skip(form);
        return Number.NaN;
    }
  }

  reference(form: number): Reference | null {
    const { cursor } = this;
    const { offset, format } = this.#unit;
    const own = (value: number) => ({ offset: offset + value, isShared: false });
    const { is64 } = format;
    switch (form) {
      case DW_FORM_REF1:
        return own(cursor.u8());
      case DW_FORM_REF2:
        return own(cursor.u16());
      case DW_FORM_REF4:
        return own(cursor.u32());
      case DW_FORM_REF8:
        return own(cursor.u64());
      case DW_FORM_REF_UDATA:
        return own(cursor.uleb());
      case DW_FORM_REF_ADDR:
        return {
          offset: format.version === 2 && format.addressSize === 8 ? cursor.u64() : cursor.offset(is64),
          isShared: false,
        };
      case DW_FORM_GNU_REF_ALT:
        return { offset: cursor.offset(is64), isShared: true };
      case DW_FORM_REF_SUP4:
        return { offset: cursor.u32(), isShared: true };
      case DW_FORM_REF_SUP8:
        return { offset: cursor.u64(), isShared: true };
      default:
        this.skip(form);
        return null;
    }
  }

  /** Null where it is none; empty where it points to what is not here. */
  text(form: number): string | null {
    const { cursor } = this;
    const { sections, format } = this.#unit;
    switch (form) {
      case DW_FORM_STRING:
        return stringAt(cursor.bytes, cursor.skipString(), LONGEST_PATH);
      case DW_FORM_STRP:
        return textIn(sections.str, cursor.offset(format.is64));
      case DW_FORM_LINE_STRP:
        return textIn(sections.lineStr ?? this.#unit.home.lineStr, cursor.offset(format.is64));
      case DW_FORM_GNU_STRP_ALT:
      case DW_FORM_STRP_SUP:
        return textIn(sections.shared?.str ?? null, cursor.offset(format.is64));
      default: {
        const index = this.#stringIndex(form);
        if (index >= 0) return this.#textAt(index);
        this.skip(form);
        return null;
      }
    }
  }

  #textAt(index: number): string {
    const { sections, format } = this.#unit;
    const size = format.is64 ? 8 : 4;
    const at = this.bases.stringOffsets + index * size;
    const offset = numberAt(sections.stringOffsets, at, size, sections.littleEndian);
    return Number.isNaN(offset) ? '' : textIn(sections.str, offset);
  }

  #isAddressIndex(form: number): boolean {
    return (
      form === DW_FORM_ADDRX ||
      form === DW_FORM_GNU_ADDR_INDEX ||
      isBetween(form, DW_FORM_ADDRX1, DW_FORM_ADDRX4)
    );
  }

  /** -1: it is none. */
  #addressIndex(form: number): number {
    if (form === DW_FORM_ADDRX || form === DW_FORM_GNU_ADDR_INDEX) return this.cursor.uleb();
    return this.#smallIndex(form, DW_FORM_ADDRX1, DW_FORM_ADDRX2, DW_FORM_ADDRX3, DW_FORM_ADDRX4);
  }

  #stringIndex(form: number): number {
    if (form === DW_FORM_STRX || form === DW_FORM_GNU_STR_INDEX) return this.cursor.uleb();
    return this.#smallIndex(form, DW_FORM_STRX1, DW_FORM_STRX2, DW_FORM_STRX3, DW_FORM_STRX4);
  }

  #smallIndex(form: number, one: number, two: number, three: number, four: number): number {
    const { cursor } = this;
    if (form === one) return cursor.u8();
    if (form === two) return cursor.u16();
    if (form === three) return cursor.u24();
    return form === four ? cursor.u32() : -1;
  }
}

/** The table is read from where the number says, also where the number is damage: `at` checks it. */
function textIn(table: ElfNames | null, offset: number): string {
  return table?.at(offset) ?? '';
}

function isBetween(value: number, first: number, last: number): boolean {
  return value >= first && value <= last;
}
