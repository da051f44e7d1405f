import { FunctionNames, type UnitFile } from './function-names.ts';
import { findScopes, firstFrom, type Scope } from './scopes.ts';
import type { Unit } from './unit-facts.ts';
import { type SourcePlace, UnitLines } from './unit-lines.ts';

/** A function at an address, or one inlined there, and the line that it is at. */
export interface SourceFrame {
  /** As the linker knows it; empty: not known. */
  readonly functionName: string;
  /** Path of the source; empty: not known. */
  readonly file: string;
  /** From 1; 0: not known. */
  readonly line: number;
  /** From 1; 0: not known. */
  readonly column: number;
}

/** Addresses that are looked at in the pieces of all units: pieces that overlap everywhere are damage. */
const MOST_CLAIMS = 1 << 26;

export interface FindOptions {
  /** Finds the rest of a unit that is split off; null where it is not there. Default: it is nowhere. */
  splitUnit?: (unit: Unit) => Promise<UnitFile | null>;
  /** Makes names for people of names of the linker; default: they stay. */
  nameOf?: (linkageName: string) => string;
}

/**
 * Source places of addresses of a binary, for all of them at once: each unit that has some is read once, and
 * the others not at all. Answers by place among the addresses, which need no order: the function inlined
 * innermost comes first, the function itself last. Empty where nothing is known.
 */
export async function findSources(
  file: UnitFile,
  addresses: ArrayLike<number>,
  { splitUnit = async () => null, nameOf = (name) => name }: FindOptions = {},
): Promise<(readonly SourceFrame[])[]> {
  const order = Array.from({ length: addresses.length }, (_, place) => place);
  order.sort((a, b) => addresses[a]! - addresses[b]!);
  const sorted = Float64Array.from(order, (place) => addresses[place]!);
  const answers = new Array<readonly SourceFrame[]>(addresses.length).fill([]);
  for (const [unit, places] of placesByUnit(file, sorted)) {
    const split = unit.splitName === '' ? null : await splitUnit(unit);
    const own = Float64Array.from(places, (place) => sorted[place]!);
    const frames = framesOfUnit(split ?? file, split?.units[0] ?? unit, own, nameOf);
    places.forEach((place, index) => {
      answers[order[place]!] = frames[index]!;
    });
  }
  return answers;
}

/** Which unit has which of the sorted addresses: where several claim one, that with the smallest piece. */
function placesByUnit({ units, sections }: UnitFile, sorted: Float64Array): Map<Unit, number[]> {
  const unitOf = new Int32Array(sorted.length).fill(-1);
  const sizes = new Float64Array(sorted.length).fill(Number.POSITIVE_INFINITY);
  let leftClaims = MOST_CLAIMS;
  units.forEach(({ ranges }, unit) => {
    ranges.starts.forEach((start, range) => {
      const end = ranges.ends[range]!;
      for (
        let at = firstFrom(sorted, start);
        at < sorted.length && sorted[at]! < end && leftClaims > 0;
        at++
      ) {
        leftClaims--;
        if (end - start >= sizes[at]!) continue;
        sizes[at] = end - start;
        unitOf[at] = unit;
      }
    });
  });
  if (leftClaims <= 0) sections.elf.damage.add('dwarf-ranges', 0);
  const places = new Map<Unit, number[]>();
  unitOf.forEach((unit, place) => {
    if (unit < 0) return;
    const known = places.get(units[unit]!);
    if (known === undefined) places.set(units[unit]!, [place]);
    else known.push(place);
  });
  return places;
}

function framesOfUnit(
  file: UnitFile,
  unit: Unit,
  addresses: Float64Array,
  nameOf: (linkageName: string) => string,
): (readonly SourceFrame[])[] {
  const { scopes, isWhole } = findScopes(unit, addresses);
  if (!isWhole) unit.sections.elf.damage.add('dwarf-entries', unit.offset);
  const lines = UnitLines.read(unit, addresses);
  const chains = new ScopeChains(unit, new FunctionNames(file, nameOf), lines);
  return scopes.map((scope, place) => chains.framesOf(scope, lines?.at(place) ?? NOWHERE));
}

const NOWHERE: SourcePlace = { file: '', line: 0, column: 0 };

/**
 * Frames of scopes. Those around an inlined function are the same at each of its addresses, and made once.
 */
class ScopeChains {
  readonly #unit: Unit;
  readonly #names: FunctionNames;
  readonly #lines: UnitLines | null;
  readonly #callers = new Map<Scope, readonly SourceFrame[]>();

  constructor(unit: Unit, names: FunctionNames, lines: UnitLines | null) {
    this.#unit = unit;
    this.#names = names;
    this.#lines = lines;
  }

  /** The functions at an address, whose innermost is at `place`. */
  framesOf(scope: Scope | null, place: SourcePlace): readonly SourceFrame[] {
    if (scope === null) return place === NOWHERE ? [] : [{ functionName: '', ...place }];
    const functionName = this.#names.of(this.#unit, scope.abbreviation, scope.entry);
    return [{ functionName, ...place }, ...this.#callersOf(scope)];
  }

  #callersOf(scope: Scope): readonly SourceFrame[] {
    if (scope.caller === null) return [];
    let callers = this.#callers.get(scope);
    if (callers === undefined) {
      const file = this.#lines?.filePath(scope.callFile) ?? '';
      callers = this.framesOf(scope.caller, { file, line: scope.callLine, column: scope.callColumn });
      this.#callers.set(scope, callers);
    }
    return callers;
  }
}
