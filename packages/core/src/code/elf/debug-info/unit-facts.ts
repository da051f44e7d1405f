import type { UnitFormat } from '../dwarf/skip-form.ts';
import type { AbbreviationTable } from './abbreviations.ts';
import type { DebugSections } from './debug-sections.ts';

/** Pieces of code: each from a start to the address behind it. */
export interface Ranges {
  readonly starts: number[];
  readonly ends: number[];
}

/** Where a unit's tables begin in the sections that all units share. */
export interface UnitBases {
  readonly addresses: number;
  readonly stringOffsets: number;
  readonly rangeLists: number;
  /** Of versions up to 4, in split units: added to each offset of ranges. */
  readonly ranges: number;
  /** Where ranges begin from where they do not say it. */
  readonly lowPc: number;
}

/** What was compiled at once, as its header and its first entry describe it. */
export interface Unit {
  readonly sections: DebugSections;
  /** Sections with the addresses: those of the binary, where the unit is split off. */
  readonly home: DebugSections;
  readonly offset: number;
  readonly end: number;
  readonly format: UnitFormat;
  readonly abbreviations: AbbreviationTable;
  readonly firstEntry: number;
  readonly bases: UnitBases;
  /** The code of the unit; empty where it has none, or does not say. */
  readonly ranges: Ranges;
  /** Offset of its lines; -1: it has none. */
  readonly lines: number;
  readonly folder: string;
  /** File with the rest of the unit, which is split off; empty where all is here. */
  readonly splitName: string;
  /** As hex; empty where the unit has none. */
  readonly splitId: string;
}
