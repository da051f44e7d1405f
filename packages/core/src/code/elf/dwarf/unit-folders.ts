import { type ElfNames, stringAt } from '../strings.ts';
import { DwarfCursor } from './dwarf-cursor.ts';
import {
  DW_AT_COMP_DIR,
  DW_AT_STMT_LIST,
  DW_FORM_DATA4,
  DW_FORM_DATA8,
  DW_FORM_IMPLICIT_CONST,
  DW_FORM_LINE_STRP,
  DW_FORM_SEC_OFFSET,
  DW_FORM_STRING,
  DW_FORM_STRP,
  DW_UT_SKELETON,
  DW_UT_SPLIT_COMPILE,
  DW_UT_SPLIT_TYPE,
  DW_UT_TYPE,
} from './dwarf-facts.ts';
import { type InitialLength, readInitialLength } from './initial-length.ts';
import { skipForm, type UnitFormat } from './skip-form.ts';

/** Sections whose strings others point into; null where the file has none. */
export interface DebugStrings {
  readonly str: ElfNames | null;
  readonly lineStr: ElfNames | null;
}

export const LONGEST_PATH = 4096;
const FREE_BYTES = 1 << 20;
const MOST_READINGS = 16;

/**
 * The folders that units were compiled in, by where their line tables begin in `.debug_line`: before
 * version 5 a table does not have its own. Only the first entry of each unit is read, of
 * `.debug_info` and `.debug_abbrev`.
 */
export function readUnitFolders(
  info: Uint8Array<ArrayBuffer>,
  abbreviations: Uint8Array<ArrayBuffer>,
  strings: DebugStrings,
  littleEndian: boolean,
): Map<number, string> {
  const folders = new Map<number, string>();
  const cursor = new DwarfCursor(info, littleEndian);
  const declarations = new DwarfCursor(abbreviations, littleEndian);
  // Damaged units could each have us read all declarations.
  let leftBytes = FREE_BYTES + abbreviations.length * MOST_READINGS;
  for (let next = 0; next < info.length && leftBytes > 0; ) {
    cursor.at = next;
    cursor.end = info.length;
    const length = readInitialLength(cursor);
    if (length === null) break;
    next = length.end;
    cursor.end = length.end;
    cursor.isDamaged = false;
    declarations.at = 0;
    declarations.isDamaged = false;
    leftBytes -= readUnit(cursor, length, declarations, strings, folders);
  }
  return folders;
}

/**
 * Bytes of declarations that were read. Version, then (5) type, address size and offset of abbreviations, or
 * (2 to 4) that offset and address size; then entries.
 */
function readUnit(
  cursor: DwarfCursor,
  { is64 }: InitialLength,
  declarations: DwarfCursor,
  strings: DebugStrings,
  folders: Map<number, string>,
): number {
  const version = cursor.u16();
  if (version < 2 || version > 5) return 0;
  const type = version === 5 ? cursor.u8() : 0;
  let addressSize = version === 5 ? cursor.u8() : 0;
  const declarationsAt = cursor.offset(is64);
  declarations.at = declarationsAt;
  if (version < 5) addressSize = cursor.u8();
  if (type === DW_UT_SKELETON || type === DW_UT_SPLIT_COMPILE) cursor.skip(8);
  if (type === DW_UT_TYPE || type === DW_UT_SPLIT_TYPE) cursor.skip(is64 ? 16 : 12);
  const format: UnitFormat = { version, is64, addressSize };

  let table = -1;
  let folder = '';
  if (cursor.isDamaged || declarationsAt > declarations.end) return 0;
  if (!goToDeclaration(declarations, cursor.uleb())) return declarations.at - declarationsAt;
  for (;;) {
    const attribute = declarations.uleb();
    const form = declarations.uleb();
    if (form === DW_FORM_IMPLICIT_CONST) declarations.skipLeb();
    if (form === 0 || declarations.isDamaged || cursor.isDamaged) break;
    if (attribute === DW_AT_STMT_LIST && isOffset(form))
      table = cursor.offset(form === DW_FORM_DATA8 || (form === DW_FORM_SEC_OFFSET && is64));
    else if (attribute === DW_AT_COMP_DIR) folder = readString(cursor, form, format, strings);
    else skipForm(cursor, form, format);
  }
  if (table >= 0 && folder !== '') folders.set(table, folder);
  return declarations.at - declarationsAt;
}

function isOffset(form: number): boolean {
  return form === DW_FORM_SEC_OFFSET || form === DW_FORM_DATA4 || form === DW_FORM_DATA8;
}

/** Compilers declare the first entry's abbreviation first; others are gone over. */
function goToDeclaration(declarations: DwarfCursor, wanted: number): boolean {
  for (let tries = 0; tries < 1000; tries++) {
    const code = declarations.uleb();
    if (code === 0 || declarations.isDamaged) return false;
    declarations.uleb();
    declarations.u8();
    if (code === wanted) return true;
    for (;;) {
      declarations.uleb();
      const form = declarations.uleb();
      if (form === DW_FORM_IMPLICIT_CONST) declarations.skipLeb();
      if (form === 0 || declarations.isDamaged) break;
    }
  }
  return false;
}

/** A string's value; empty where its form points to what is not in the file, and goes behind it. */
export function readString(
  cursor: DwarfCursor,
  form: number,
  format: UnitFormat,
  strings: DebugStrings,
): string {
  if (form === DW_FORM_STRING) return stringAt(cursor.bytes, cursor.skipString(), LONGEST_PATH);
  const table = form === DW_FORM_STRP ? strings.str : form === DW_FORM_LINE_STRP ? strings.lineStr : null;
  if (table !== null) return table.at(cursor.offset(format.is64));
  skipForm(cursor, form, format);
  return '';
}
