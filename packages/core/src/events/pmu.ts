import { didYouMean, nearestNames } from '../base/index.ts';
import { EventSyntaxError } from './errors.ts';
import { type FormatBits, largestValue, parseFormat, placeBits } from './format-bits.ts';
import { isGlob, matchesGlob } from './glob.ts';
import { scanTerms, type Term } from './scan.ts';
import { applyGeneralTerm, generalTermNames, parseTermNumber, unknownTerm } from './terms.ts';
import type { EventLookup, ParsedEvent, PmuDescription, PmuEvent } from './types.ts';

/**
 * The PMUs that a name before the slash means: the one of that name; or those that share it but for a number at the
 * end (`uncore_imc` is `uncore_imc_0` and `uncore_imc_1`), with `uncore_` left out or not; or those of a wildcard.
 */
export function findPmus(name: string, lookup: EventLookup): PmuDescription[] {
  const exact = lookup.pmu(name);
  if (exact !== null) return [exact];
  const found: PmuDescription[] = [];
  for (const candidate of lookup.pmuNames()) {
    const short = name.startsWith('uncore_') ? candidate : candidate.replace(/^uncore_/, '');
    const numbered = short.startsWith(name) && /^_?\d*$/.test(short.slice(name.length));
    if (!numbered && !(isGlob(name) && matchesGlob(short, name))) continue;
    const pmu = lookup.pmu(candidate);
    if (pmu !== null) found.push(pmu);
  }
  return found;
}

/** The PMUs that have an event of this name in the kernel's tables: `mem-loads`, `tsc`. Case does not count. */
export function findPmuEvents(name: string, lookup: EventLookup): { pmu: PmuDescription; event: string }[] {
  const wanted = name.toLowerCase();
  const found: { pmu: PmuDescription; event: string }[] = [];
  for (const candidate of lookup.pmuNames()) {
    const pmu = lookup.pmu(candidate);
    const event = pmu === null ? undefined : findEvent(pmu, wanted);
    if (pmu !== null && event !== undefined) found.push({ pmu, event });
  }
  return found;
}

function findEvent(pmu: PmuDescription, wanted: string): string | undefined {
  if (pmu.events.has(wanted)) return wanted;
  for (const name of pmu.events.keys()) if (name.toLowerCase() === wanted) return name;
  return undefined;
}

/** A term, and the text that its columns count in: the user's, or the kernel's own. */
interface PlacedTerm {
  readonly term: Term;
  readonly source: string;
}

/**
 * Terms between the slashes of `pmu/…/` into the attr: those that every event knows, then the PMU's own events
 * (`cpu/mem-loads,ldlat=30/`) replaced by what the kernel says they are, then bits by the PMU's formats.
 */
export function applyPmuTerms(
  event: ParsedEvent,
  pmu: PmuDescription,
  terms: readonly Term[],
  source: string,
): void {
  event.attr.type = pmu.type;
  event.attr.config = pmu.defaultConfig ?? 0n;
  event.pmu = pmu.name;
  if (pmu.cpus !== undefined) event.cpus = pmu.cpus;

  const rest: PlacedTerm[] = [];
  for (const term of terms) {
    const raw = rawTermConfig(term);
    if (raw !== null && !pmu.events.has(term.name)) event.attr.config = raw;
    else if (!applyGeneralTerm(event, term, source)) rest.push({ term, source });
  }
  const given = new Map(rest.map(({ term }) => [term.name, term]));
  const placed = rest.flatMap(({ term }) => expandTerm(event, pmu, term, source, given));
  for (const { term, source } of placed) placeTerm(event, pmu, term, source, given);
}

/** `cpu/r1a8/`: a raw code between slashes. */
function rawTermConfig(term: Term): bigint | null {
  if (term.value !== null || !/^r(?:0x)?[0-9a-fA-F]{1,16}$/.test(term.name)) return null;
  return BigInt(`0x${term.name.replace(/^r(?:0x)?/, '')}`);
}

/** The kernel's terms in place of an event's name: `mem-loads`, or `event=mem-loads`. */
function expandTerm(
  event: ParsedEvent,
  pmu: PmuDescription,
  term: Term,
  source: string,
  given: ReadonlyMap<string, Term>,
): PlacedTerm[] {
  const name = pmuEventOf(pmu, term);
  if (name === null) return [{ term, source }];
  const known = pmu.events.get(name)!;
  takeUnit(event, known, term, source);
  const own = scanTerms(known.terms, 0, known.terms.length);
  return own.flatMap((inner): PlacedTerm[] => {
    if (inner.value === '?') {
      const parameter = given.get(inner.name);
      if (parameter !== undefined) return [];
      throw new EventSyntaxError(source, term.at, `${name} needs ${inner.name}=`);
    }
    return applyGeneralTerm(event, inner, known.terms) ? [] : [{ term: inner, source: known.terms }];
  });
}

function pmuEventOf(pmu: PmuDescription, term: Term): string | null {
  let name: string;
  if (term.value === null || term.value === '1') {
    if (pmu.formats.has(term.name)) return null;
    name = term.name;
  } else {
    if (term.name.toLowerCase() !== 'event' || parseTermNumber(term.value) !== null) return null;
    name = term.value;
  }
  return findEvent(pmu, name.toLowerCase()) ?? null;
}

function takeUnit(event: ParsedEvent, known: PmuEvent, term: Term, source: string): void {
  if (known.unit !== undefined) {
    if (event.unit !== undefined) {
      throw new EventSyntaxError(source, term.at, 'only one of the events may have a unit');
    }
    event.unit = known.unit;
  }
  if (known.scale !== undefined) event.scale = known.scale;
}

function placeTerm(
  event: ParsedEvent,
  pmu: PmuDescription,
  term: Term,
  source: string,
  given: ReadonlyMap<string, Term>,
): void {
  const format = formatOf(pmu, term, source, given);
  const value = term.value === null ? 1n : term.quoted ? null : parseTermNumber(term.value);
  if (value === null) {
    const near = term.name === 'event' ? nearestNames(term.value!, pmu.events.keys()) : [];
    const wanted = term.name === 'event' && pmu.events.size > 0 ? 'a number or an event' : 'a number';
    throw new EventSyntaxError(
      source,
      term.valueAt,
      `${term.name}= expects ${wanted} of ${pmu.name}${didYouMean(near)}`,
    );
  }
  const most = largestValue(format);
  if (value > most) {
    throw new EventSyntaxError(source, term.valueAt, `value too big for ${term.name}: at most ${most}`);
  }
  const { word, mask } = placeBits(format, value);
  const before = event.attr[format.field];
  event.attr[format.field] = (pmu.defaultConfig === undefined ? before : before & ~mask) | word;
}

function formatOf(
  pmu: PmuDescription,
  term: Term,
  source: string,
  given: ReadonlyMap<string, Term>,
): FormatBits {
  const text = pmu.formats.get(term.name);
  if (text === undefined) {
    // A misspelt event looks like a term without a value.
    const known =
      term.value === null ? [...pmu.formats.keys(), ...pmu.events.keys()] : [...pmu.formats.keys()];
    throw unknownTerm(term, source, `PMU ${pmu.name}`, [...known, ...generalTermNames(true)]);
  }
  const format = parseFormat(text);
  if (format === null) {
    const at = given.get(term.name)?.at ?? term.at;
    throw new EventSyntaxError(
      source,
      at,
      `the kernel describes ${term.name} in a way not known here: ${text}`,
    );
  }
  return format;
}
