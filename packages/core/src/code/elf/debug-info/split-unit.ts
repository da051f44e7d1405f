import type { UnitFormat } from '../dwarf/skip-form.ts';
import type { DebugSections } from './debug-sections.ts';
import type { UnitFile } from './function-names.ts';
import { readUnits } from './unit.ts';
import type { Unit } from './unit-facts.ts';

/**
 * The rest of a unit, out of a file with split debug information: its entries there, with the addresses,
 * ranges and lines of the unit that stayed in the binary. Null where the file has no unit of that id.
 */
export function splitUnit(sections: DebugSections, skeleton: Unit): UnitFile | null {
  const unit = readUnits(sections).find(({ splitId }) => splitId === skeleton.splitId);
  if (unit === undefined) return null;
  const { home, lines, folder, ranges } = skeleton;
  const bases = {
    ...skeleton.bases,
    stringOffsets: unit.bases.stringOffsets || headerSize(unit.format, 4),
    rangeLists: unit.bases.rangeLists || headerSize(unit.format, 8),
  };
  const whole = { ...unit, home, lines, folder, ranges, bases };
  return { sections, units: [whole], shared: null };
}

/** Tables of version 5 have a header; the table of a file's only unit begins behind it. */
function headerSize({ version, is64 }: UnitFormat, behindLength: number): number {
  return version < 5 ? 0 : (is64 ? 12 : 4) + behindLength;
}
