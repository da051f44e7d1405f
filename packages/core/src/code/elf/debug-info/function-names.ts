import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import {
  DW_AT_ABSTRACT_ORIGIN,
  DW_AT_LINKAGE_NAME,
  DW_AT_MIPS_LINKAGE_NAME,
  DW_AT_NAME,
  DW_AT_SPECIFICATION,
} from '../dwarf/dwarf-facts.ts';
import type { DebugSections } from './debug-sections.ts';
import type { Abbreviation } from './skip-plan.ts';
import { readUnits, unitAt } from './unit.ts';
import type { Unit } from './unit-facts.ts';
import { type Reference, ValueReader } from './value-reader.ts';

/** From a call to a copy to its declaration to that of its template: compilers need three. */
const MOST_REFERENCES = 16;

/** The units of a file, and those of the file that it shares with others (dwz). */
export interface UnitFile {
  readonly sections: DebugSections;
  readonly units: readonly Unit[];
  readonly shared: UnitFile | null;
}

export function unitFile(sections: DebugSections): UnitFile {
  const { shared } = sections;
  return {
    sections,
    units: readUnits(sections),
    shared: shared === null ? null : { sections: shared, units: readUnits(shared), shared: null },
  };
}

/**
 * Names of functions as the linker knows them where they have such names (to be demangled), else as the
 * source has them. An entry often has none of its own and says which other one has it.
 */
export class FunctionNames {
  readonly #file: UnitFile;
  readonly #names = new Map<number, string>();

  readonly #nameOf: (linkageName: string) => string;

  /** `nameOf` makes of a linkage name what `of` gives. */
  constructor(file: UnitFile, nameOf: (linkageName: string) => string) {
    this.#file = file;
    this.#nameOf = nameOf;
  }

  /** Of the entry whose attributes begin at `at`; empty where it has no name. */
  of(unit: Unit, abbreviation: Abbreviation, at: number): string {
    let name = this.#names.get(at);
    if (name === undefined) this.#names.set(at, (name = this.#find(unit, abbreviation, at)));
    return name;
  }

  #find(firstUnit: Unit, firstAbbreviation: Abbreviation, firstAt: number): string {
    let sourceName = '';
    let file: UnitFile = this.#file;
    let unit = firstUnit;
    let abbreviation = firstAbbreviation;
    let at = firstAt;
    for (let followed = 0; followed <= MOST_REFERENCES; followed++) {
      const entry = readNames(unit, abbreviation, at);
      if (entry.linkageName !== '') return this.#nameOf(entry.linkageName);
      if (sourceName === '') sourceName = entry.name;
      if (entry.origin === null) break;
      if (entry.origin.isShared) {
        if (file.shared === null) break;
        file = file.shared;
      }
      const next = unitAt(entry.origin.isShared ? file.units : unitsOf(file, unit), entry.origin.offset);
      if (next === null) break;
      const cursor = new DwarfCursor(
        next.sections.info,
        next.sections.littleEndian,
        entry.origin.offset,
        next.end,
      );
      const found = next.abbreviations.find(cursor.uleb());
      if (found === null) break;
      unit = next;
      abbreviation = found;
      at = cursor.at;
    }
    return sourceName;
  }
}

/** A split unit refers to itself alone. */
function unitsOf(file: UnitFile, unit: Unit): readonly Unit[] {
  return unit.sections === file.sections ? file.units : [unit];
}

interface EntryNames {
  linkageName: string;
  name: string;
  origin: Reference | null;
}

function readNames(unit: Unit, { attributes }: Abbreviation, at: number): EntryNames {
  const { info, littleEndian } = unit.sections;
  const values = new ValueReader(unit, new DwarfCursor(info, littleEndian, at, unit.end));
  const found: EntryNames = { linkageName: '', name: '', origin: null };
  for (let place = 0; place < attributes.length; place += 3) {
    const form = attributes[place + 1]!;
    switch (attributes[place]) {
      case DW_AT_LINKAGE_NAME:
      case DW_AT_MIPS_LINKAGE_NAME:
        found.linkageName = values.text(form) ?? '';
        break;
      case DW_AT_NAME:
        found.name = values.text(form) ?? '';
        break;
      case DW_AT_ABSTRACT_ORIGIN:
      case DW_AT_SPECIFICATION:
        found.origin = values.reference(form);
        break;
      default:
        values.skip(form);
    }
  }
  return found;
}
