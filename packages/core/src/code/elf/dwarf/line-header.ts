import { stringAt } from '../strings.ts';
import type { DwarfCursor } from './dwarf-cursor.ts';
import {
  DW_FORM_DATA1,
  DW_FORM_DATA2,
  DW_FORM_UDATA,
  DW_LNCT_DIRECTORY_INDEX,
  DW_LNCT_PATH,
} from './dwarf-facts.ts';
import { type InitialLength, readInitialLength } from './initial-length.ts';
import { skipForm, type UnitFormat } from './skip-form.ts';
import { type DebugStrings, LONGEST_PATH, readString } from './unit-folders.ts';

export interface LineFile {
  readonly name: string;
  /** Number of its folder in the same header. */
  readonly folder: number;
}

/** The head of one unit's line table (DWARF 5, section 6.2.4). */
export interface LineHeader {
  /** Where the unit begins in the section. */
  readonly offset: number;
  readonly version: number;
  readonly minInstructionLength: number;
  /** Above 1 only on processors with instruction words. */
  readonly maxOperations: number;
  readonly defaultIsStatement: boolean;
  readonly lineBase: number;
  readonly lineRange: number;
  readonly opcodeBase: number;
  /** Arguments of the standard opcodes, by opcode. */
  readonly argumentCounts: Uint8Array;
  /** Folder 0 is where the unit was compiled; empty where the header does not say (before version 5). */
  readonly folders: string[];
  /** By the number that the program uses. */
  readonly files: LineFile[];
  readonly programStart: number;
  readonly end: number;
}

/**
 * Folders or files of one unit: more than any compiler writes. An entry can be one byte long,
 * and takes a hundred in memory.
 */
export const MOST_ENTRIES: number = 1 << 20;

/** Before version 5 files count from 1. */
const NO_FILE: LineFile = { name: '', folder: 0 };

/**
 * Reads a header; the cursor stands at the unit's first byte and goes to its end. Null where the
 * unit's length leads out of the section, or where the header makes no sense: `cursor.at` is then the
 * end of the unit, or of the section.
 */
export function readLineHeader(cursor: DwarfCursor, strings: DebugStrings): LineHeader | null {
  const offset = cursor.at;
  const sectionEnd = cursor.end;
  const length = readInitialLength(cursor);
  if (length === null) {
    cursor.at = sectionEnd;
    return null;
  }
  cursor.end = length.end;
  const header = readBody(cursor, offset, length, strings);
  const isDamaged = cursor.isDamaged;
  cursor.at = length.end;
  cursor.end = sectionEnd;
  cursor.isDamaged = false;
  return isDamaged ? null : header;
}

function readBody(
  cursor: DwarfCursor,
  offset: number,
  { is64, end }: InitialLength,
  strings: DebugStrings,
): LineHeader | null {
  const version = cursor.u16();
  if (version < 2 || version > 5) return null;
  const addressSize = version === 5 ? cursor.u8() : 0;
  // Size of segment selectors: not used by any known compiler.
  if (version === 5) cursor.u8();
  const headerLength = cursor.offset(is64);
  const programStart = cursor.at + headerLength;
  if (headerLength > end - cursor.at) return null;
  const minInstructionLength = cursor.u8();
  const maxOperations = version >= 4 ? cursor.u8() : 1;
  const defaultIsStatement = cursor.u8() !== 0;
  const lineBase = cursor.i8();
  const lineRange = cursor.u8();
  const opcodeBase = cursor.u8();
  if (lineRange === 0 || opcodeBase === 0 || maxOperations === 0) return null;
  const argumentCounts = new Uint8Array(opcodeBase);
  for (let opcode = 1; opcode < opcodeBase; opcode++) argumentCounts[opcode] = cursor.u8();
  const format: UnitFormat = { version, is64, addressSize };
  const lists = version === 5 ? readLists(cursor, format, strings) : readOldLists(cursor);
  return {
    offset,
    version,
    minInstructionLength,
    maxOperations,
    defaultIsStatement,
    lineBase,
    lineRange,
    opcodeBase,
    argumentCounts,
    ...lists,
    programStart,
    end,
  };
}

/**
 * Before version 5: strings, each list ended by an empty one; folder 0 is not
 * written, and files count from 1.
 */
function readOldLists(cursor: DwarfCursor): { folders: string[]; files: LineFile[] } {
  const folders = [''];
  for (;;) {
    const name = stringAt(cursor.bytes, cursor.skipString(), LONGEST_PATH);
    if (name === '' || cursor.isDamaged) break;
    if (folders.length === MOST_ENTRIES) cursor.isDamaged = true;
    folders.push(name);
  }
  const files = [NO_FILE];
  for (;;) {
    const file = readOldFile(cursor);
    if (file === null) break;
    if (files.length === MOST_ENTRIES) cursor.isDamaged = true;
    files.push(file);
  }
  return { folders, files };
}

/** Name, folder, time, size. Null at the end of the list. */
export function readOldFile(cursor: DwarfCursor): LineFile | null {
  const name = stringAt(cursor.bytes, cursor.skipString(), LONGEST_PATH);
  if (name === '' || cursor.isDamaged) return null;
  const folder = cursor.uleb();
  cursor.uleb();
  cursor.uleb();
  return { name, folder };
}

/** Version 5: each list says first which facts its entries have, and in which forms. */
function readLists(
  cursor: DwarfCursor,
  format: UnitFormat,
  strings: DebugStrings,
): { folders: string[]; files: LineFile[] } {
  const folders = readEntries(cursor, format, strings).map(({ name }) => name);
  return { folders, files: readEntries(cursor, format, strings) };
}

function readEntries(cursor: DwarfCursor, format: UnitFormat, strings: DebugStrings): LineFile[] {
  const facts: { type: number; form: number }[] = [];
  for (let left = cursor.u8(); left > 0; left--) facts.push({ type: cursor.uleb(), form: cursor.uleb() });
  const entries: LineFile[] = [];
  const count = cursor.uleb();
  while (entries.length < count && !cursor.isDamaged) {
    const from = cursor.at;
    let name = '';
    let folder = 0;
    for (const { type, form } of facts) {
      if (type === DW_LNCT_PATH) name = readString(cursor, form, format, strings);
      else if (type === DW_LNCT_DIRECTORY_INDEX) folder = readIndex(cursor, form, format);
      else skipForm(cursor, form, format);
    }
    // Entries without bytes could be claimed without end.
    if (cursor.at === from || entries.length === MOST_ENTRIES) cursor.isDamaged = true;
    entries.push({ name, folder });
  }
  return entries;
}

function readIndex(cursor: DwarfCursor, form: number, format: UnitFormat): number {
  if (form === DW_FORM_UDATA) return cursor.uleb();
  if (form === DW_FORM_DATA1) return cursor.u8();
  if (form === DW_FORM_DATA2) return cursor.u16();
  skipForm(cursor, form, format);
  return 0;
}
