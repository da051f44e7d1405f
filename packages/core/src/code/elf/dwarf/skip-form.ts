import type { DwarfCursor } from './dwarf-cursor.ts';
import {
  DW_FORM_ADDR,
  DW_FORM_ADDRX,
  DW_FORM_ADDRX1,
  DW_FORM_ADDRX2,
  DW_FORM_ADDRX3,
  DW_FORM_ADDRX4,
  DW_FORM_BLOCK,
  DW_FORM_BLOCK1,
  DW_FORM_BLOCK2,
  DW_FORM_BLOCK4,
  DW_FORM_DATA1,
  DW_FORM_DATA2,
  DW_FORM_DATA4,
  DW_FORM_DATA8,
  DW_FORM_DATA16,
  DW_FORM_EXPRLOC,
  DW_FORM_FLAG,
  DW_FORM_FLAG_PRESENT,
  DW_FORM_GNU_ADDR_INDEX,
  DW_FORM_GNU_REF_ALT,
  DW_FORM_GNU_STR_INDEX,
  DW_FORM_GNU_STRP_ALT,
  DW_FORM_IMPLICIT_CONST,
  DW_FORM_LINE_STRP,
  DW_FORM_LOCLISTX,
  DW_FORM_REF_ADDR,
  DW_FORM_REF_SIG8,
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
} from './dwarf-facts.ts';

/** How large the values of a unit are. */
export interface UnitFormat {
  readonly version: number;
  /** The 64-bit format: offsets of eight bytes. */
  readonly is64: boolean;
  readonly addressSize: number;
}

const FIXED_SIZES: ReadonlyMap<number, number> = new Map([
  [DW_FORM_FLAG_PRESENT, 0],
  [DW_FORM_IMPLICIT_CONST, 0],
  ...[DW_FORM_DATA1, DW_FORM_FLAG, DW_FORM_REF1, DW_FORM_STRX1, DW_FORM_ADDRX1].map(
    (form): [number, number] => [form, 1],
  ),
  ...[DW_FORM_DATA2, DW_FORM_REF2, DW_FORM_STRX2, DW_FORM_ADDRX2].map((form): [number, number] => [form, 2]),
  ...[DW_FORM_STRX3, DW_FORM_ADDRX3].map((form): [number, number] => [form, 3]),
  ...[DW_FORM_DATA4, DW_FORM_REF4, DW_FORM_REF_SUP4, DW_FORM_STRX4, DW_FORM_ADDRX4].map(
    (form): [number, number] => [form, 4],
  ),
  ...[DW_FORM_DATA8, DW_FORM_REF8, DW_FORM_REF_SIG8, DW_FORM_REF_SUP8].map((form): [number, number] => [
    form,
    8,
  ]),
  [DW_FORM_DATA16, 16],
]);

const NUMBERS: ReadonlySet<number> = new Set([
  DW_FORM_UDATA,
  DW_FORM_REF_UDATA,
  DW_FORM_STRX,
  DW_FORM_ADDRX,
  DW_FORM_LOCLISTX,
  DW_FORM_RNGLISTX,
  DW_FORM_SDATA,
  DW_FORM_GNU_ADDR_INDEX,
  DW_FORM_GNU_STR_INDEX,
]);

const OFFSETS: ReadonlySet<number> = new Set([
  DW_FORM_STRP,
  DW_FORM_LINE_STRP,
  DW_FORM_SEC_OFFSET,
  DW_FORM_STRP_SUP,
  DW_FORM_GNU_REF_ALT,
  DW_FORM_GNU_STRP_ALT,
]);

/** Bytes of a value of that form; null where each value has its own size, or the form is not known. */
export function fixedSizeOf(form: number, format: UnitFormat): number | null {
  const fixed = FIXED_SIZES.get(form);
  if (fixed !== undefined) return fixed;
  if (OFFSETS.has(form)) return format.is64 ? 8 : 4;
  if (form === DW_FORM_ADDR) return format.addressSize;
  // Version 2 still gave it the size of an address.
  if (form === DW_FORM_REF_ADDR) return format.version === 2 ? format.addressSize : format.is64 ? 8 : 4;
  return null;
}

/** Numbers of seven bits a byte. */
export function isLebForm(form: number): boolean {
  return NUMBERS.has(form);
}

/**
 * Goes behind a value (DWARF 5, section 7.5.5). Of a form that is not known the size is not
 * either: the cursor is damaged then.
 */
export function skipForm(cursor: DwarfCursor, form: number, format: UnitFormat): void {
  const fixed = fixedSizeOf(form, format);
  if (fixed !== null) cursor.skip(fixed);
  else if (NUMBERS.has(form)) cursor.skipLeb();
  else if (form === DW_FORM_STRING) cursor.skipString();
  else if (form === DW_FORM_BLOCK || form === DW_FORM_EXPRLOC) cursor.skip(cursor.uleb());
  else if (form === DW_FORM_BLOCK1) cursor.skip(cursor.u8());
  else if (form === DW_FORM_BLOCK2) cursor.skip(cursor.u16());
  else if (form === DW_FORM_BLOCK4) cursor.skip(cursor.u32());
  else cursor.isDamaged = true;
}
