import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import {
  DW_FORM_RNGLISTX,
  DW_RLE_BASE_ADDRESS,
  DW_RLE_BASE_ADDRESSX,
  DW_RLE_END_OF_LIST,
  DW_RLE_OFFSET_PAIR,
  DW_RLE_START_END,
  DW_RLE_START_LENGTH,
  DW_RLE_STARTX_ENDX,
  DW_RLE_STARTX_LENGTH,
} from '../dwarf/dwarf-facts.ts';
import { numberAt } from './debug-sections.ts';
import type { Ranges, Unit } from './unit-facts.ts';

/** More pieces than a unit or a function has: Chromium's largest units have some ten thousand. */
const MOST_RANGES = 1 << 20;

/**
 * The code of an entry: `lowPc` up to `highPc`, or a list. Pieces that the linker left out, and those that
 * end before they begin, are no code. Absent values are NaN.
 */
export function addressRanges(
  unit: Unit,
  lowPc: number,
  highPc: number,
  listForm: number,
  list: number,
): Ranges {
  const found: Ranges = { starts: [], ends: [] };
  if (!Number.isNaN(list)) {
    if (unit.home.budget.isSpent) return found;
    if (unit.format.version >= 5) readRangeList(unit, listForm, list, found);
    else readOldRanges(unit, list, found);
  } else if (!Number.isNaN(lowPc) && !Number.isNaN(highPc)) addRange(found, lowPc, highPc);
  return found;
}

/** Linkers give code that they left out the address 0 or one of the last: -1, -2 as signed numbers. */
export function addRange({ starts, ends }: Ranges, start: number, end: number): void {
  if (!(start < end) || start === 0 || start === -1 || start === -2) return;
  starts.push(start);
  ends.push(end);
}

/** Pairs of addresses up to one of zeros; a largest possible start makes its end the base of those behind. */
function readOldRanges(unit: Unit, list: number, found: Ranges): void {
  const { home, format, bases } = unit;
  if (home.ranges === null) return;
  const { addressSize } = format;
  const cursor = new DwarfCursor(
    home.ranges,
    home.littleEndian,
    Math.min(list + bases.ranges, home.ranges.length),
  );
  const read = () => (addressSize === 8 ? cursor.i64() : cursor.u32());
  const largest = addressSize === 8 ? -1 : 0xffff_ffff;
  let base = bases.lowPc;
  while (found.starts.length < MOST_RANGES) {
    const start = read();
    const end = read();
    home.budget.spend(addressSize * 2);
    if (cursor.isDamaged || (start === 0 && end === 0)) return;
    if (start === largest) base = end;
    else addRange(found, base + start, base + end);
  }
}

/** DWARF 5, section 7.25. */
function readRangeList(unit: Unit, form: number, list: number, found: Ranges): void {
  const { sections, format, bases, home } = unit;
  const { rangeLists } = sections;
  if (rangeLists === null) return;
  const at = form === DW_FORM_RNGLISTX ? listAt(unit, list) : list;
  if (Number.isNaN(at)) return;
  const cursor = new DwarfCursor(rangeLists, sections.littleEndian, Math.min(at, rangeLists.length));
  const { addressSize } = format;
  const read = () => (addressSize === 8 ? cursor.i64() : cursor.u32());
  const indexed = () =>
    numberAt(home.addresses, bases.addresses + cursor.uleb() * addressSize, addressSize, home.littleEndian);
  let base = bases.lowPc;
  while (found.starts.length < MOST_RANGES && !cursor.isDamaged) {
    let start = Number.NaN;
    let end = Number.NaN;
    home.budget.spend(1);
    switch (cursor.u8()) {
      case DW_RLE_END_OF_LIST:
        return;
      case DW_RLE_BASE_ADDRESSX:
        base = indexed();
        continue;
      case DW_RLE_BASE_ADDRESS:
        base = read();
        continue;
      case DW_RLE_STARTX_ENDX:
        start = indexed();
        end = indexed();
        break;
      case DW_RLE_STARTX_LENGTH:
        start = indexed();
        end = start + cursor.uleb();
        break;
      case DW_RLE_OFFSET_PAIR:
        start = base + cursor.uleb();
        end = base + cursor.uleb();
        break;
      case DW_RLE_START_END:
        start = read();
        end = read();
        break;
      case DW_RLE_START_LENGTH:
        start = read();
        end = start + cursor.uleb();
        break;
      default:
        cursor.isDamaged = true;
    }
    if (!cursor.isDamaged) addRange(found, start, end);
  }
}

/** The list with a number: the unit's table has offsets from its own begin. */
function listAt({ sections, format, bases }: Unit, index: number): number {
  const size = format.is64 ? 8 : 4;
  const at = bases.rangeLists + index * size;
  return bases.rangeLists + numberAt(sections.rangeLists, at, size, sections.littleEndian);
}
