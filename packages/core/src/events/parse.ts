import { PERF_TYPE_BREAKPOINT, PERF_TYPE_RAW, PERF_TYPE_TRACEPOINT } from '../abi/index.ts';
import { didYouMean, nearestNames } from '../base/index.ts';
import { makeAttr } from '../records/index.ts';
import { EventSyntaxError } from './errors.ts';
import { BREAKPOINT_ACCESS } from './facts.ts';
import { isGlob, matchesGlob } from './glob.ts';
import { applyModifiers, MODIFIER_LETTERS, type ModifiedEvent, modifierProblem } from './modifiers.ts';
import { cacheEventNames, findCacheEvent, NAMED_EVENTS } from './names.ts';
import { applyPmuTerms, findPmuEvents, findPmus } from './pmu.ts';
import { type EventText, scanEventList, type Term } from './scan.ts';
import { applyGeneralTerm, generalTermNames, parseTermNumber, unknownTerm } from './terms.ts';
import type { EventLookup, ParsedEvent, PmuDescription } from './types.ts';

/** What one list may name: every tracepoint of a kernel fits. */
const MOST_EVENTS = 8192;

export interface ParseEventsOptions {
  /** Number of the first group: for lists after other lists. */
  firstGroup?: number;
}

/**
 * Events by name, in perf's grammar: `cycles:u`, `{cycles,instructions}:S`, `sched:sched_*`, `cpu/event=0x3c,umask=1/pp`,
 * `r1a8`, `L1-dcache-load-misses`, `mem:0x1000/8:rw`.
 */
export function parseEvents(
  text: string,
  lookup: EventLookup,
  { firstGroup = 0 }: ParseEventsOptions = {},
): ParsedEvent[] {
  const events: ModifiedEvent[] = [];
  let group = firstGroup;
  for (const item of scanEventList(text)) {
    const first = events.length;
    for (const event of item.events) {
      events.push(...new EventResolver(text, event, lookup).resolve());
      if (events.length > MOST_EVENTS) {
        throw new EventSyntaxError(text, event.at, `more than ${MOST_EVENTS} events`);
      }
    }
    if (item.group === null) continue;
    const { name, modifiers, modifiersAt } = item.group;
    checkModifiers(text, modifiers, modifiersAt);
    events.slice(first).forEach((event, index) => {
      event.group = group;
      if (name !== '') event.groupName = name;
      event.isLeader = index === 0;
      if (modifiers !== '') applyModifiers(event, modifiers, true);
    });
    group++;
  }
  return events.map(({ choosesGuest: _, ...event }) => event);
}

function checkModifiers(text: string, letters: string, at: number): void {
  const problem = modifierProblem(letters);
  if (problem !== null) throw new EventSyntaxError(text, at + problem.at, problem.reason);
}

const RAW = /^r(?:0x)?([0-9a-fA-F]{1,16})$/;
/** What a name of a tracepoint or its system may be made of, wildcards included. */
const TRACEPOINT_PART = /^[\w*?.[\]!-]+$/;

/** Finds out what one event means. */
class EventResolver {
  readonly #text: string;
  readonly #event: EventText;
  readonly #lookup: EventLookup;
  readonly #terms: readonly Term[];

  constructor(text: string, event: EventText, lookup: EventLookup) {
    this.#text = text;
    this.#event = event;
    this.#lookup = lookup;
    this.#terms = event.terms ?? [];
  }

  resolve(): ModifiedEvent[] {
    const { head, at, terms } = this.#event;
    if (head.startsWith('mem:')) return [this.#breakpoint()];

    const parts = head.split(':');
    const [first = '', second] = parts;
    const named = NAMED_EVENTS.get(first);
    if (named !== undefined) {
      const event = this.#generic(named.type, named.config, this.#event.text);
      if (named.tool !== undefined) {
        event.tool = named.tool;
        event.unit = 'ns';
      }
      return this.#finish([event], parts, 1);
    }
    const cache = findCacheEvent(first);
    if (cache !== null) {
      if ('problem' in cache) throw this.#error(at, cache.problem);
      return this.#finish([this.#generic(cache.type, cache.config, first)], parts, 1);
    }
    if (terms !== null && parts.length === 1) {
      const pmus = findPmus(first, this.#lookup);
      if (pmus.length > 0)
        return this.#finish(
          pmus.map((pmu) => this.#pmuEvent(pmu, this.#terms)),
          parts,
          1,
        );
    }
    // `read` is a word of cache events before it is raw 0xead.
    const raw = first === 'read' ? null : RAW.exec(first);
    if (raw !== null) {
      return this.#finish([this.#generic(PERF_TYPE_RAW, BigInt(`0x${raw[1]}`), this.#event.text)], parts, 1);
    }
    const type = parseTermNumber(first);
    const config = second === undefined ? null : parseTermNumber(second);
    if (type !== null && type <= 0xffff_ffffn && config !== null) {
      return this.#finish([this.#generic(Number(type), config, this.#event.text)], parts, 2);
    }
    if (terms === null) {
      const aliases = findPmuEvents(first, this.#lookup);
      if (aliases.length > 0) {
        const term = (name: string): Term => ({ name, at, value: null, valueAt: at, quoted: false });
        const events = aliases.map(({ pmu, event }) => this.#pmuEvent(pmu, [term(event)]));
        return this.#finish(events, parts, 1);
      }
    }
    if (second !== undefined && TRACEPOINT_PART.test(first) && TRACEPOINT_PART.test(second)) {
      return this.#finish(this.#tracepoints(first, second), parts, 2);
    }
    throw this.#unknown(first);
  }

  #start(name: string, type: number, config: bigint): ModifiedEvent {
    return {
      name,
      // perf leaves guests out unless they are asked for.
      attr: makeAttr({ type, config, flags: { excludeGuest: 1 } }),
      group: null,
      isLeader: true,
      periodGiven: false,
      options: {},
      choosesGuest: false,
    };
  }

  #generic(type: number, config: bigint, name: string): ModifiedEvent {
    const event = this.#start(name, type, config);
    this.#applyTerms(event, this.#terms, true);
    return event;
  }

  #pmuEvent(pmu: PmuDescription, terms: readonly Term[]): ModifiedEvent {
    const event = this.#start(this.#event.text, pmu.type, 0n);
    applyPmuTerms(event, pmu, terms, this.#text);
    return event;
  }

  #applyTerms(event: ModifiedEvent, terms: readonly Term[], withConfig: boolean): void {
    for (const term of terms) {
      const known = generalTermNames(withConfig);
      const allowed = term.name.startsWith('@') || known.includes(term.name);
      if (!allowed || !applyGeneralTerm(event, term, this.#text)) {
        throw unknownTerm(term, this.#text, this.#event.head, known);
      }
    }
  }

  /** Modifiers: what is left of the head after the parts that name the event, or what stands after the slashes. */
  #finish(events: ModifiedEvent[], parts: readonly string[], used: number): ModifiedEvent[] {
    const { head, terms, tail, at, tailAt } = this.#event;
    let letters = parts.slice(used).join(':');
    let lettersAt = at + parts.slice(0, used).join(':').length + 1;
    if (terms !== null) {
      if (letters !== '')
        throw this.#error(at + head.length - letters.length, 'modifiers stand after the last slash');
      letters = tail.startsWith(':') ? tail.slice(1) : tail;
      lettersAt = tailAt + tail.length - letters.length;
    }
    checkModifiers(this.#text, letters, lettersAt);
    if (letters !== '') for (const event of events) applyModifiers(event, letters, false);
    return events;
  }

  /** `mem:ADDRESS[/LENGTH][:rwx][:modifiers]` */
  #breakpoint(): ModifiedEvent {
    const { head, at } = this.#event;
    const [, place = '', ...more] = head.split(':');
    const slash = place.indexOf('/');
    const addressAt = at + 'mem:'.length;
    const address = parseTermNumber(slash < 0 ? place : place.slice(0, slash));
    if (address === null) throw this.#error(addressAt, 'mem: expects an address, as in mem:0x1000/8:rw');
    let access = 0;
    let used = 2;
    if (more[0] !== undefined && /^[rwx]/.test(more[0])) {
      access = this.#access(more[0], addressAt + place.length + 1);
      used = 3;
    }
    if (access === 0) access = 3;
    let length: bigint | null = access === 4 ? 8n : 4n;
    if (slash >= 0) {
      length = parseTermNumber(place.slice(slash + 1));
      if (length === null || ![1n, 2n, 4n, 8n].includes(length)) {
        throw this.#error(addressAt + slash + 1, 'the length of a breakpoint is 1, 2, 4 or 8');
      }
    }
    const event = this.#start(this.#event.text, PERF_TYPE_BREAKPOINT, 0n);
    event.attr.breakpointType = access;
    event.attr.config1 = address;
    event.attr.config2 = length;
    event.attr.samplePeriodOrFreq = 1n;
    return this.#finish([event], head.split(':'), used)[0]!;
  }

  #access(letters: string, at: number): number {
    let access = 0;
    for (let index = 0; index < letters.length; index++) {
      const bit = BREAKPOINT_ACCESS.find(([letter]) => letter === letters[index])?.[1];
      if (bit === undefined || access & bit) {
        throw this.#error(at + index, 'a breakpoint watches r, w or x, each at most once');
      }
      access |= bit;
    }
    return access;
  }

  #tracepoints(system: string, name: string): ModifiedEvent[] {
    const { at } = this.#event;
    const wild = isGlob(system) || isGlob(name);
    const names = wild
      ? this.#lookup.tracepointNames().filter((full) => {
          const colon = full.indexOf(':');
          return matchesGlob(full.slice(0, colon), system) && matchesGlob(full.slice(colon + 1), name);
        })
      : [`${system}:${name}`];
    if (names.length > MOST_EVENTS) throw this.#error(at, `more than ${MOST_EVENTS} events`);
    // Ask for one even if none matches: a machine that forbids the list also says so for a name.
    return (names.length === 0 ? [`${system}:${name}`] : names).map((full) => this.#tracepoint(full));
  }

  #tracepoint(full: string): ModifiedEvent {
    const colon = full.indexOf(':');
    const system = full.slice(0, colon);
    const name = full.slice(colon + 1);
    const id = this.#lookup.tracepoint(system, name);
    if (typeof id !== 'number') {
      // `cycels:u` has the form of a tracepoint too.
      if ([...name].every((letter) => MODIFIER_LETTERS.includes(letter))) throw this.#unknown(system);
      if (id === null) throw this.#unknownTracepoint(system, name);
      throw this.#error(this.#event.at, id.unavailable, id.remedy);
    }
    const event = this.#start(full, PERF_TYPE_TRACEPOINT, BigInt(id));
    event.tracepoint = { system, name };
    event.attr.samplePeriodOrFreq = 1n;
    this.#applyTerms(event, this.#terms, false);
    return event;
  }

  #error(column: number, reason: string, remedy = ''): EventSyntaxError {
    return new EventSyntaxError(this.#text, column, reason, remedy);
  }

  #unknownTracepoint(system: string, name: string): EventSyntaxError {
    const { at } = this.#event;
    const all = this.#lookup.tracepointNames();
    if (isGlob(system) || isGlob(name)) return this.#error(at, 'no tracepoint matches');
    const inSystem = all.filter((full) => full.startsWith(`${system}:`));
    if (inSystem.length > 0) {
      const near = nearestNames(
        name,
        inSystem.map((full) => full.slice(system.length + 1)),
      );
      const reason = `unknown tracepoint of ${system}${didYouMean(near.map((event) => `${system}:${event}`))}`;
      return this.#error(at + system.length + 1, reason);
    }
    const systems = new Set(all.map((full) => full.slice(0, full.indexOf(':'))));
    return this.#error(
      at,
      `unknown tracepoint${didYouMean(nearestNames(system, systems).map((found) => `${found}:…`))}`,
    );
  }

  #unknown(name: string): EventSyntaxError {
    const { at, terms } = this.#event;
    const lookup = this.#lookup;
    if (terms !== null) {
      const near = nearestNames(name, lookup.pmuNames());
      return this.#error(at, `this machine has no PMU ${name}${didYouMean(near)}`);
    }
    if (findPmus(name, lookup).length > 0) {
      return this.#error(at, `${name} is a PMU, not an event; write ${name}/event=…/`);
    }
    const known = new Set([...NAMED_EVENTS.keys(), ...cacheEventNames()]);
    for (const pmu of lookup.pmuNames())
      for (const event of lookup.pmu(pmu)?.events.keys() ?? []) known.add(event);
    return this.#error(at, `unknown event${didYouMean(nearestNames(name, known))}`);
  }
}
