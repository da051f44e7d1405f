import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import { DW_FORM_IMPLICIT_CONST } from '../dwarf/dwarf-facts.ts';
import type { UnitFormat } from '../dwarf/skip-form.ts';
import { type Abbreviation, type SkipPlan, skipPlan } from './skip-plan.ts';

/** More attributes than any compiler gives an entry. */
const MOST_ATTRIBUTES = 256;
/** A section may be read so often in all: damaged units could each begin a table somewhere else. */
const MOST_READINGS = 16;
const FREE_BYTES = 1 << 20;

/** The kinds of entries that units declare (`.debug_abbrev`), by where the tables begin. */
export class AbbreviationTables {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #littleEndian: boolean;
  readonly #tables = new Map<string, AbbreviationTable>();
  #leftBytes: number;

  constructor(bytes: Uint8Array<ArrayBuffer>, littleEndian: boolean) {
    this.#bytes = bytes;
    this.#littleEndian = littleEndian;
    this.#leftBytes = FREE_BYTES + bytes.length * MOST_READINGS;
  }

  /** The table at an offset, for units of a format: how entries are gone over depends on that. */
  at(offset: number, format: UnitFormat): AbbreviationTable {
    const key = `${offset} ${format.version} ${format.is64} ${format.addressSize}`;
    let table = this.#tables.get(key);
    if (table === undefined) {
      const cursor = new DwarfCursor(this.#bytes, this.#littleEndian, Math.min(offset, this.#bytes.length));
      table = new AbbreviationTable(cursor, format, (bytes) => (this.#leftBytes -= bytes) > 0);
      this.#tables.set(key, table);
    }
    return table;
  }
}

/** One table. It is read as far as somebody asks: of most units only the first entry is looked at. */
export class AbbreviationTable {
  readonly #cursor: DwarfCursor;
  readonly #format: UnitFormat;
  readonly #spend: (bytes: number) => boolean;
  /** By code, which compilers count from 1. */
  readonly #known = new Map<number, Abbreviation>();
  readonly #dense: (Abbreviation | undefined)[] = [];
  readonly #plans = new Map<Abbreviation, SkipPlan>();
  #isWhole = false;

  constructor(cursor: DwarfCursor, format: UnitFormat, spend: (bytes: number) => boolean) {
    this.#cursor = cursor;
    this.#format = format;
    this.#spend = spend;
  }

  /** Null where no such code is declared. */
  find(code: number): Abbreviation | null {
    const dense = this.#dense[code];
    if (dense !== undefined) return dense;
    while (!this.#known.has(code) && !this.#isWhole) this.#readNext();
    return this.#known.get(code) ?? null;
  }

  /** How to go over an entry of the kind. */
  planOf(abbreviation: Abbreviation): SkipPlan {
    let plan = this.#plans.get(abbreviation);
    if (plan === undefined) {
      plan = skipPlan(abbreviation, this.#format);
      this.#plans.set(abbreviation, plan);
    }
    return plan;
  }

  #readNext(): void {
    const cursor = this.#cursor;
    const from = cursor.at;
    const code = cursor.uleb();
    const tag = cursor.uleb();
    const hasChildren = cursor.u8() !== 0;
    const attributes: number[] = [];
    for (;;) {
      if (code === 0 || cursor.isDamaged) break;
      const attribute = cursor.uleb();
      const form = cursor.uleb();
      const value = form === DW_FORM_IMPLICIT_CONST ? cursor.sleb() : 0;
      if (attribute === 0 && form === 0) break;
      attributes.push(attribute, form, value);
      if (attributes.length > MOST_ATTRIBUTES * 3) cursor.isDamaged = true;
    }
    if (code === 0 || cursor.isDamaged || !this.#spend(cursor.at - from)) {
      this.#isWhole = true;
      return;
    }
    if (this.#known.has(code)) return;
    const abbreviation = { tag, hasChildren, attributes };
    this.#known.set(code, abbreviation);
    if (code < 1 << 16) this.#dense[code] = abbreviation;
  }
}
