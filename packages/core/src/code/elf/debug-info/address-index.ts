import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import { readInitialLength } from '../dwarf/initial-length.ts';
import { addRange } from './address-ranges.ts';
import type { DebugSections } from './debug-sections.ts';
import type { Ranges } from './unit-facts.ts';

/**
 * The code of units by `.debug_aranges` (DWARF 5, section 6.1.2), by where the units begin. Not every unit is
 * in it; it is for those that do not say themselves where their code is, as in version 2 of DWARF.
 */
export function readAddressIndex({ addressIndex, littleEndian, elf }: DebugSections): Map<number, Ranges> {
  const found = new Map<number, Ranges>();
  if (addressIndex === null) return found;
  const cursor = new DwarfCursor(addressIndex, littleEndian);
  for (let next = 0; next < addressIndex.length; ) {
    const from = next;
    cursor.at = next;
    cursor.end = addressIndex.length;
    cursor.isDamaged = false;
    const length = readInitialLength(cursor);
    if (length === null) {
      elf.damage.add('dwarf-address-index', from);
      break;
    }
    next = length.end;
    cursor.end = length.end;
    const version = cursor.u16();
    const unit = cursor.offset(length.is64);
    const addressSize = cursor.u8();
    const segmentSize = cursor.u8();
    if (version !== 2 || segmentSize !== 0 || (addressSize !== 4 && addressSize !== 8)) continue;
    // Pairs begin at a multiple of their size.
    const pair = addressSize * 2;
    cursor.at = from + Math.ceil((cursor.at - from) / pair) * pair;
    const ranges: Ranges = found.get(unit) ?? { starts: [], ends: [] };
    found.set(unit, ranges);
    while (cursor.at < cursor.end) {
      const start = addressSize === 8 ? cursor.i64() : cursor.u32();
      const size = addressSize === 8 ? cursor.u64() : cursor.u32();
      if (cursor.isDamaged || (start === 0 && size === 0)) break;
      addRange(ranges, start, start + size);
    }
  }
  return found;
}
