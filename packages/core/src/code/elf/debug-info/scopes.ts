/**
 * Which function, and which functions inlined into it, each address of a unit is in. One walk over the unit's
 * entries answers for all addresses that are asked for:
 *
 *     subprogram     main     0x1000 0x1400      addresses 0x1010   main
 *       lexical_block                                      0x1088   sort, inlined in main
 *         inlined    sort     0x1080 0x1200                0x1104   less, inlined in sort, inlined in main
 *           inlined  less     0x1100 0x1110
 *
 * Where pieces overlap, the smallest has the address.
 */
import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import {
  DW_AT_CALL_COLUMN,
  DW_AT_CALL_FILE,
  DW_AT_CALL_LINE,
  DW_AT_HIGH_PC,
  DW_AT_LOW_PC,
  DW_AT_RANGES,
  DW_AT_SIBLING,
  DW_FORM_REF4,
  DW_TAG_COMPILE_UNIT,
  DW_TAG_INLINED_SUBROUTINE,
  DW_TAG_MODULE,
  DW_TAG_NAMESPACE,
  DW_TAG_PARTIAL_UNIT,
  DW_TAG_SKELETON_UNIT,
  DW_TAG_SUBPROGRAM,
} from '../dwarf/dwarf-facts.ts';
import { addressRanges } from './address-ranges.ts';
import type { Abbreviation } from './skip-plan.ts';
import { siblingOf, skipEntry } from './skip-plan.ts';
import type { Unit } from './unit-facts.ts';
import { ValueReader } from './value-reader.ts';

/** A function that an address is in, or one that was inlined there. */
export interface Scope {
  /** Offset of its entry, behind the code. */
  readonly entry: number;
  readonly abbreviation: Abbreviation;
  /** Where it is inlined; null: it is the function itself. */
  readonly caller: Scope | null;
  /** The call that was replaced: a file of the unit's line table, or -1, and its line, or 0. */
  readonly callFile: number;
  readonly callLine: number;
  readonly callColumn: number;
  /** How many functions it is inlined into. */
  readonly depth: number;
}

/** Entries within each other, and functions inlined into each other: more than compilers write. */
const MOST_DEPTH = 2048;
const MOST_INLINED = 200;
/** Addresses that are looked at in all pieces of a unit: pieces that overlap everywhere are damage. */
const MOST_CLAIMS = 1 << 26;

/**
 * Entries whose functions are looked at wherever they are: what is below others
 * is of one function, or of none.
 */
const CONTAINERS: ReadonlySet<number> = new Set([
  DW_TAG_COMPILE_UNIT,
  DW_TAG_PARTIAL_UNIT,
  DW_TAG_SKELETON_UNIT,
  DW_TAG_NAMESPACE,
  DW_TAG_MODULE,
]);

/**
 * `addresses` ascend. Null for those in no function; false where the unit is damaged from some entry
 * on. A function that has none of the addresses is gone over with all that is below it, and so are
 * types. That misses functions in other places (nested ones, methods of local classes): their
 * addresses get a second, whole walk.
 */
export function findScopes(
  unit: Unit,
  addresses: Float64Array,
): { scopes: (Scope | null)[]; isWhole: boolean } {
  const walk = new ScopeWalk(unit, addresses, true);
  const isWhole = walk.run();
  const { scopes } = walk;
  const missing = scopes.flatMap((scope, place) => (scope === null ? [place] : []));
  if (missing.length === 0 || !isWhole) return { scopes, isWhole };
  const rest = new ScopeWalk(
    unit,
    Float64Array.from(missing, (place) => addresses[place]!),
    false,
  );
  const isRestWhole = rest.run();
  missing.forEach((place, index) => {
    scopes[place] = rest.scopes[index]!;
  });
  return { scopes, isWhole: isRestWhole };
}

class ScopeWalk {
  readonly scopes: (Scope | null)[];
  readonly #unit: Unit;
  readonly #addresses: Float64Array;
  /** By address: bytes of the piece that has it by now. */
  readonly #sizes: Float64Array;
  readonly #cursor: DwarfCursor;
  readonly #values: ValueReader;
  #leftClaims = MOST_CLAIMS;
  #isCut = false;

  /**
   * Of the function that was read last: the entry beside it, in the unit's terms; -1 where it is not told.
   */
  #sibling = -1;
  readonly #isShort: boolean;

  constructor(unit: Unit, addresses: Float64Array, isShort: boolean) {
    this.#isShort = isShort;
    const { info, littleEndian } = unit.sections;
    this.#unit = unit;
    this.#addresses = addresses;
    this.scopes = new Array<Scope | null>(addresses.length).fill(null);
    this.#sizes = new Float64Array(addresses.length).fill(Number.POSITIVE_INFINITY);
    this.#cursor = new DwarfCursor(info, littleEndian, unit.firstEntry, unit.end);
    this.#values = new ValueReader(unit, this.#cursor);
  }

  run(): boolean {
    const cursor = this.#cursor;
    const { abbreviations, end, offset } = this.#unit;
    /** By depth: the function that entries there are in, where it has some of the addresses. */
    const within: (Scope | null)[] = [null];
    let depth = 0;
    while (cursor.at < end && !cursor.isDamaged) {
      const code = cursor.uleb();
      if (code === 0) {
        // Padding at the end of a unit.
        if (depth > 0) depth--;
        continue;
      }
      const abbreviation = abbreviations.find(code);
      if (abbreviation === null) return false;
      const { tag } = abbreviation;
      const outer = within[depth] ?? null;
      const plan = abbreviations.planOf(abbreviation);
      let scope: Scope | null = outer;
      let sibling = -1;
      if (tag === DW_TAG_SUBPROGRAM || (tag === DW_TAG_INLINED_SUBROUTINE && outer !== null)) {
        scope = this.#read(abbreviation, tag === DW_TAG_SUBPROGRAM ? null : outer);
        sibling = this.#sibling;
      } else {
        const isSkipped = this.#isShort && outer === null && !CONTAINERS.has(tag);
        if (isSkipped && abbreviation.hasChildren) sibling = siblingOf(cursor, plan);
        if (sibling < 0) skipEntry(cursor, plan);
      }
      if (this.#isShort && scope === null && sibling >= 0) {
        if (offset + sibling <= cursor.at || offset + sibling > end) return false;
        cursor.at = offset + sibling;
        continue;
      }
      if (!abbreviation.hasChildren) continue;
      if (++depth > MOST_DEPTH || this.#leftClaims <= 0) return false;
      within[depth] = scope;
    }
    return !cursor.isDamaged && !this.#isCut;
  }

  /** Reads a function. Null where none of the addresses is in it. */
  #read(abbreviation: Abbreviation, caller: Scope | null): Scope | null {
    const values = this.#values;
    const { attributes } = abbreviation;
    const entry = this.#cursor.at;
    let lowPc = Number.NaN;
    let highPc = Number.NaN;
    let list = Number.NaN;
    let listForm = 0;
    let callFile = -1;
    let callLine = 0;
    let callColumn = 0;
    this.#sibling = -1;
    for (let at = 0; at < attributes.length; at += 3) {
      const form = attributes[at + 1]!;
      const implicit = attributes[at + 2]!;
      switch (attributes[at]) {
        case DW_AT_LOW_PC:
          lowPc = values.address(form);
          break;
        case DW_AT_HIGH_PC:
          // It follows the other in everything that compilers write.
          highPc = values.endAddress(form, implicit, lowPc);
          break;
        case DW_AT_SIBLING:
          if (form === DW_FORM_REF4) this.#sibling = this.#cursor.u32();
          else values.skip(form);
          break;
        case DW_AT_RANGES:
          listForm = form;
          list = values.constant(form, implicit);
          break;
        case DW_AT_CALL_FILE:
          callFile = values.constant(form, implicit);
          break;
        case DW_AT_CALL_LINE:
          callLine = values.constant(form, implicit);
          break;
        case DW_AT_CALL_COLUMN:
          callColumn = values.constant(form, implicit);
          break;
        default:
          values.skip(form);
      }
    }
    const isSomewhere = !Number.isNaN(lowPc) || !Number.isNaN(list);
    if (!isSomewhere && caller === null) return null;
    if (caller !== null && caller.depth >= MOST_INLINED) {
      this.#isCut = true;
      return null;
    }
    const scope: Scope = {
      entry,
      abbreviation,
      caller,
      callFile: Number.isNaN(callFile) ? -1 : callFile,
      callLine: callLine || 0,
      callColumn: callColumn || 0,
      depth: caller === null ? 0 : caller.depth + 1,
    };
    const { starts, ends } = addressRanges(this.#unit, lowPc, highPc, listForm, list);
    let isClaimed = false;
    for (let range = 0; range < starts.length; range++)
      if (this.#claim(scope, starts[range]!, ends[range]!)) isClaimed = true;
    // Version 2 has no way to say that a copy is in several pieces: what is inlined into it may be in others.
    const isPartial = caller !== null && this.#unit.format.version === 2;
    return isClaimed || isPartial ? scope : null;
  }

  /** Whether some of the addresses are in the piece. */
  #claim(scope: Scope, start: number, end: number): boolean {
    const addresses = this.#addresses;
    const first = firstFrom(addresses, start);
    let at = first;
    for (; at < addresses.length && addresses[at]! < end && this.#leftClaims > 0; at++) {
      this.#leftClaims--;
      if (end - start > this.#sizes[at]!) continue;
      this.#sizes[at] = end - start;
      this.scopes[at] = scope;
    }
    return at > first;
  }
}

/** Index of the first of ascending numbers that is not below `value`. */
export function firstFrom(numbers: Float64Array, value: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
