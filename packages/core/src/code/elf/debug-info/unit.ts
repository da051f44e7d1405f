import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import {
  DW_AT_ADDR_BASE,
  DW_AT_COMP_DIR,
  DW_AT_DWO_NAME,
  DW_AT_GNU_ADDR_BASE,
  DW_AT_GNU_DWO_ID,
  DW_AT_GNU_DWO_NAME,
  DW_AT_GNU_RANGES_BASE,
  DW_AT_HIGH_PC,
  DW_AT_LOW_PC,
  DW_AT_RANGES,
  DW_AT_RNGLISTS_BASE,
  DW_AT_STMT_LIST,
  DW_AT_STR_OFFSETS_BASE,
  DW_UT_SKELETON,
  DW_UT_SPLIT_COMPILE,
  DW_UT_SPLIT_TYPE,
  DW_UT_TYPE,
} from '../dwarf/dwarf-facts.ts';
import { readInitialLength } from '../dwarf/initial-length.ts';
import type { UnitFormat } from '../dwarf/skip-form.ts';
import { AbbreviationTables } from './abbreviations.ts';
import { readAddressIndex } from './address-index.ts';
import { addressRanges } from './address-ranges.ts';
import type { DebugSections } from './debug-sections.ts';
import { skipAnyForm } from './skip-plan.ts';
import type { Ranges, Unit, UnitBases } from './unit-facts.ts';
import { ValueReader } from './value-reader.ts';

const NO_BASES: UnitBases = { addresses: 0, stringOffsets: 0, rangeLists: 0, ranges: 0, lowPc: 0 };
const NO_RANGES: Ranges = { starts: [], ends: [] };

/** All units of a file, in the order of their offsets. What is damaged is counted and left out. */
export function readUnits(sections: DebugSections): Unit[] {
  const { info, abbreviations, littleEndian, elf } = sections;
  const tables = new AbbreviationTables(abbreviations, littleEndian);
  const units: Unit[] = [];
  const cursor = new DwarfCursor(info, littleEndian);
  for (let next = 0; next < info.length; ) {
    const offset = next;
    cursor.at = next;
    cursor.end = info.length;
    cursor.isDamaged = false;
    const length = readInitialLength(cursor);
    if (length === null) {
      elf.damage.add('dwarf-unit', offset);
      break;
    }
    next = length.end;
    cursor.end = length.end;
    const unit = readUnit(cursor, offset, length.is64, tables, sections);
    if (unit === null) elf.damage.add('dwarf-unit', offset);
    else units.push(unit);
  }
  return withAddressIndex(units, sections);
}

/**
 * Units that do not say where their code is may be in the index of addresses. Those of version 2 can name
 * one piece only, and have more of them in the index.
 */
function withAddressIndex(units: Unit[], sections: DebugSections): Unit[] {
  const isSilent = ({ ranges, lines, format }: Unit) =>
    lines >= 0 && (format.version === 2 || ranges.starts.length === 0);
  if (!units.some(isSilent)) return units;
  const index = readAddressIndex(sections);
  return units.map((unit) => {
    const more = isSilent(unit) ? index.get(unit.offset) : undefined;
    if (more === undefined) return unit;
    const { starts, ends } = unit.ranges;
    return { ...unit, ranges: { starts: [...starts, ...more.starts], ends: [...ends, ...more.ends] } };
  });
}

/**
 * Version, then (5) type, address size and offset of abbreviations, or (2 to 4) that offset and
 * address size; then entries.
 */
function readUnit(
  cursor: DwarfCursor,
  offset: number,
  is64: boolean,
  tables: AbbreviationTables,
  sections: DebugSections,
): Unit | null {
  const version = cursor.u16();
  if (version < 2 || version > 5) return null;
  const type = version === 5 ? cursor.u8() : 0;
  let addressSize = version === 5 ? cursor.u8() : 0;
  const tableOffset = cursor.offset(is64);
  if (version < 5) addressSize = cursor.u8();
  if (cursor.isDamaged || (addressSize !== 4 && addressSize !== 8)) return null;
  let splitId = '';
  if (type === DW_UT_SKELETON || type === DW_UT_SPLIT_COMPILE) splitId = readId(cursor);
  if (type === DW_UT_TYPE || type === DW_UT_SPLIT_TYPE) cursor.skip(is64 ? 16 : 12);
  const format: UnitFormat = { version, is64, addressSize };
  const unit = {
    sections,
    home: sections,
    offset,
    end: cursor.end,
    format,
    abbreviations: tables.at(tableOffset, format),
    firstEntry: cursor.at,
    bases: NO_BASES,
    ranges: NO_RANGES,
    lines: -1,
    folder: '',
    splitName: '',
    splitId,
  };
  return { ...unit, ...readFirstEntry(cursor, unit) };
}

/** Attributes of the first entry that are read at the end: their values need others, in whatever order. */
interface LatePlace {
  form: number;
  at: number;
}

function readFirstEntry(cursor: DwarfCursor, unit: Unit): Partial<Unit> {
  const abbreviation = unit.abbreviations.find(cursor.uleb());
  if (abbreviation === null) return {};
  const late = new Map<number, LatePlace>();
  const { attributes } = abbreviation;
  for (let at = 0; at < attributes.length; at += 3) {
    late.set(attributes[at]!, { form: attributes[at + 1]!, at: cursor.at });
    skipAnyForm(cursor, attributes[at + 1]!, unit.format);
  }
  if (cursor.isDamaged) return {};
  const reader = new ValueReader(unit, cursor);
  const readAt = <Value>(attribute: number, read: (form: number) => Value): Value | null => {
    const place = late.get(attribute);
    if (place === undefined) return null;
    cursor.at = place.at;
    return read(place.form);
  };
  const offsetOf = (...names: number[]): number =>
    names.map((name) => readAt(name, (form) => reader.constant(form, 0))).find((value) => value !== null) ??
    0;
  reader.bases = {
    addresses: offsetOf(DW_AT_ADDR_BASE, DW_AT_GNU_ADDR_BASE),
    stringOffsets: offsetOf(DW_AT_STR_OFFSETS_BASE),
    rangeLists: offsetOf(DW_AT_RNGLISTS_BASE),
    ranges: offsetOf(DW_AT_GNU_RANGES_BASE),
    lowPc: 0,
  };
  const lowPc = readAt(DW_AT_LOW_PC, (form) => reader.address(form)) ?? Number.NaN;
  const highPc = readAt(DW_AT_HIGH_PC, (form) => reader.endAddress(form, 0, lowPc)) ?? Number.NaN;
  const bases = { ...reader.bases, lowPc: Number.isNaN(lowPc) ? 0 : lowPc };
  const list = late.get(DW_AT_RANGES);
  const rangesAt = readAt(DW_AT_RANGES, (form) => reader.constant(form, 0)) ?? Number.NaN;
  // What a skeleton adds is for the ranges of its split unit, not for its own.
  const own = { ...unit, bases: { ...bases, ranges: 0 } };
  const text = (attribute: number) => readAt(attribute, (form) => reader.text(form)) ?? '';
  const id = late.get(DW_AT_GNU_DWO_ID);
  if (id !== undefined) cursor.at = id.at;
  return {
    bases,
    ranges: addressRanges(own, lowPc, highPc, list?.form ?? 0, rangesAt),
    lines: readAt(DW_AT_STMT_LIST, (form) => reader.constant(form, 0)) ?? -1,
    folder: text(DW_AT_COMP_DIR),
    splitName: text(DW_AT_DWO_NAME) || text(DW_AT_GNU_DWO_NAME),
    splitId: id === undefined ? unit.splitId : readIdAt(cursor, id.at),
  };
}

function readIdAt(cursor: DwarfCursor, at: number): string {
  cursor.at = at;
  return readId(cursor);
}

function readId(cursor: DwarfCursor): string {
  const low = cursor.u32();
  const high = cursor.u32();
  const [first, second] = cursor.littleEndian ? [high, low] : [low, high];
  return first.toString(16).padStart(8, '0') + second.toString(16).padStart(8, '0');
}

/** The unit that has the entry at an offset of its section, or null. */
export function unitAt(units: readonly Unit[], offset: number): Unit | null {
  let low = 0;
  let high = units.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (units[middle]!.offset <= offset) low = middle + 1;
    else high = middle;
  }
  const unit = low === 0 ? undefined : units[low - 1];
  return unit !== undefined && offset >= unit.firstEntry && offset < unit.end ? unit : null;
}
