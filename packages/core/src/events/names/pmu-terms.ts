import { didYouMean, nearestNames } from '../../base/index.ts';
import { PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_SOFTWARE } from '../../format/abi/index.ts';
import { Claims } from './claims.ts';
import { onCore } from './cores.ts';
import { EventSyntaxError } from './errors.ts';
import { type FormatBits, largestValue, parseFormat } from './format-bits.ts';
import { findCacheEvent, NAMED_EVENTS } from './names.ts';
import { findEvent } from './pmu.ts';
import { scanTerms, type Term } from './scan.ts';
import { applyGeneralTerm, CONFIG_TERMS, generalTermNames, parseTermNumber, unknownTerm } from './terms.ts';
import type { ParsedEvent, PmuDescription, PmuEvent } from './types.ts';

/** A term, and the text that its columns count in: the user's, or the kernel's own. */
interface PlacedTerm {
  readonly term: Term;
  readonly source: string;
  /** The event of the kernel's table that it is part of, and where that stands in the user's text. */
  readonly of: { readonly event: string; readonly at: number } | null;
}

/**
 * Terms between the slashes of `pmu/…/` into the attr: those that every event knows, then the
 * PMU's own events (`cpu/mem-loads,ldlat=30/`) replaced by what the kernel says they are,
 * then bits by the PMU's formats.
 */
export function applyPmuTerms(
  event: ParsedEvent,
  pmu: PmuDescription,
  terms: readonly Term[],
  source: string,
  /** `cpu_core` and `cpu_atom`: generic events must say which. */
  isOneOfSeveralCores: boolean,
): void {
  event.attr.type = pmu.type;
  event.attr.config = pmu.defaultConfig ?? 0n;
  event.pmu = pmu.name;
  if (pmu.cpus !== undefined) event.cpus = pmu.cpus;

  const claims = new Claims();
  const rest: Term[] = [];
  for (const term of terms) {
    const raw = rawTermConfig(term);
    if (raw !== null && !pmu.events.has(term.name)) {
      event.attr.config = raw;
      claims.addWord('config', raw, term.name);
    } else if (applyGeneralTerm(event, term, source)) {
      const field = CONFIG_TERMS.find((name) => name === term.name);
      if (field !== undefined) claims.addWord(field, event.attr[field], `${term.name}=${term.value}`);
    } else rest.push(term);
  }
  const generic = rest.find((term) => genericEvent(pmu, term) !== null);
  if (generic !== undefined) {
    applyGenericEvent(event, pmu, generic, rest, source, isOneOfSeveralCores);
    return;
  }
  const given = new Map(rest.map((term) => [term.name, term]));
  const expanded = rest.flatMap((term) => expandTerm(event, pmu, term, source, given));
  for (const placed of withoutReplaced(event, expanded, given))
    placeTerm(event, pmu, placed, source, given, claims);
}

/** `cpu/r1a8/`: a raw code between slashes. */
function rawTermConfig(term: Term): bigint | null {
  if (term.value !== null || !/^r(?:0x)?[0-9a-fA-F]{1,16}$/.test(term.name)) return null;
  return BigInt(`0x${term.name.replace(/^r(?:0x)?/, '')}`);
}

/**
 * `cpu_core/cycles/`, `software/cs/`: a name that the kernel knows for all PMUs of that kind.
 * The PMU's own event comes first.
 */
function genericEvent(pmu: PmuDescription, term: Term): { type: number; config: bigint } | null {
  if (term.value !== null || pmu.formats.has(term.name)) return null;
  if (findEvent(pmu, term.name.toLowerCase()) !== undefined) return null;
  const named = NAMED_EVENTS.get(term.name);
  if (named !== undefined && named.tool === undefined) {
    const wanted =
      pmu.isCore === true ? PERF_TYPE_HARDWARE : pmu.type === PERF_TYPE_SOFTWARE ? PERF_TYPE_SOFTWARE : null;
    return named.type === wanted ? named : null;
  }
  const cache = pmu.isCore === true ? findCacheEvent(term.name) : null;
  return cache === null || 'problem' in cache ? null : cache;
}

function applyGenericEvent(
  event: ParsedEvent,
  pmu: PmuDescription,
  term: Term,
  terms: readonly Term[],
  source: string,
  isOneOfSeveralCores: boolean,
): void {
  const other = terms.find((one) => one !== term);
  if (other !== undefined || event.attr.config !== (pmu.defaultConfig ?? 0n)) {
    throw new EventSyntaxError(
      source,
      (other ?? term).at,
      `${term.name} is a generic event, whose bits the kernel chooses: ${other === undefined ? 'config' : other.name} cannot be added`,
      pmu.events.size > 0
        ? `Events of ${pmu.name} that take terms: ${[...pmu.events.keys()].join(', ')}`
        : undefined,
    );
  }
  const found = genericEvent(pmu, term)!;
  const placed =
    isOneOfSeveralCores && (found.type === PERF_TYPE_HARDWARE || found.type === PERF_TYPE_HW_CACHE)
      ? onCore(found.type, found.config, pmu)
      : found;
  event.attr.type = placed.type;
  event.attr.config = placed.config;
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
  if (name === null) return [{ term, source, of: null }];
  const known = pmu.events.get(name)!;
  takeUnit(event, known, term, source);
  const of = { event: name, at: term.at };
  const own = scanTerms(known.terms, 0, known.terms.length);
  return own.flatMap((inner): PlacedTerm[] => {
    if (inner.value === '?') {
      const parameter = given.get(inner.name);
      if (parameter !== undefined) return [];
      throw new EventSyntaxError(source, term.at, `${name} needs ${inner.name}=`);
    }
    return applyGeneralTerm(event, inner, known.terms) ? [] : [{ term: inner, source: known.terms, of }];
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
  if (known.perPackage === true) event.perPackage = true;
  if (known.snapshot === true) event.snapshot = true;
  if (known.samplePeriod !== undefined) event.suggestedPeriod = known.samplePeriod;
}

/**
 * `mem-loads,ldlat=30` where the kernel's own mem-loads says ldlat=3: the user's value stands, and a note
 * says so. perf 6.1 gives the kernel 3 | 30 = 31.
 */
function withoutReplaced(
  event: ParsedEvent,
  placed: readonly PlacedTerm[],
  given: ReadonlyMap<string, Term>,
): PlacedTerm[] {
  return placed.filter(({ term, of }) => {
    const own = of === null ? undefined : given.get(term.name);
    if (of === null || own === undefined || pmuIsEventName(own)) return true;
    if (!sameValue(own, term)) {
      const note = `${own.name}=${own.value ?? 1} takes the place of ${of.event}'s own ${term.name}=${term.value ?? 1}`;
      (event.notes ??= []).push(note);
    }
    return false;
  });
}

/** `event=mem-loads` is the event, not a value of the term that it is made of. */
function pmuIsEventName(term: Term): boolean {
  return term.value !== null && parseTermNumber(term.value) === null;
}

function sameValue(one: Term, other: Term): boolean {
  return parseTermNumber(one.value ?? '1') === parseTermNumber(other.value ?? '1');
}

function placeTerm(
  event: ParsedEvent,
  pmu: PmuDescription,
  { term, source, of }: PlacedTerm,
  typed: string,
  given: ReadonlyMap<string, Term>,
  claims: Claims,
): void {
  const format = formatOf(pmu, term, source, given);
  const value = term.value === null ? 1n : term.quoted ? null : parseTermNumber(term.value);
  if (value === null) {
    const near = term.name === 'event' ? nearestNames(term.value!, pmu.events.keys()) : [];
    const wanted =
      term.name === 'event' && pmu.events.size > 0 ? `a number or an event of ${pmu.name}` : 'a number';
    throw new EventSyntaxError(
      source,
      term.valueAt,
      `${term.name}= expects ${wanted}${didYouMean(near)}`,
      `Give a number such as 18 or 0x12, without a sign, at most ${largestValue(format)}.`,
    );
  }
  const most = largestValue(format);
  if (value > most) {
    throw new EventSyntaxError(source, term.valueAt, `value too big for ${term.name}: at most ${most}`);
  }
  const words = `${term.name}=${term.value ?? 1}`;
  const { word, mask } = claims.place(
    format,
    value,
    of?.event ?? null,
    of === null ? words : `${of.event} (${words})`,
    typed,
    of?.at ?? term.at,
  );
  const before = event.attr[format.field];
  event.attr[format.field] = (pmu.defaultConfig === undefined ? before : before & ~mask) | word;
}

function unknownEvent(
  pmu: PmuDescription,
  term: Term,
  source: string,
  terms: readonly string[],
): EventSyntaxError {
  const events = [...pmu.events.keys()];
  const near = nearestNames(term.name, [...events, ...terms]);
  return new EventSyntaxError(
    source,
    term.at,
    `PMU ${pmu.name} has no event or term ${term.name}${didYouMean(near)}`,
    events.length > 0
      ? `Its events: ${events.join(', ')}. Its terms: ${terms.join(', ')}`
      : `The kernel names no events of it here, for example because a virtual machine does not get them. Its terms: ${terms.join(', ')}`,
  );
}

function formatOf(
  pmu: PmuDescription,
  term: Term,
  source: string,
  given: ReadonlyMap<string, Term>,
): FormatBits {
  const text = pmu.formats.get(term.name);
  if (text === undefined) {
    const terms = [...pmu.formats.keys(), ...generalTermNames(true)];
    // A misspelt event looks like a term without a value.
    if (term.value === null) throw unknownEvent(pmu, term, source, terms);
    throw unknownTerm(term, source, `PMU ${pmu.name}`, terms);
  }
  const format = parseFormat(text);
  if (format === null) {
    const at = given.get(term.name)?.at ?? term.at;
    throw new EventSyntaxError(source, at, `the kernel describes ${term.name} in an unknown form: ${text}`);
  }
  return format;
}
