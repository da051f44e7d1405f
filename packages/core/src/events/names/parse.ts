import { didYouMean, nearestNames } from '../../base/index.ts';
import {
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_RAW,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '../../format/abi/index.ts';
import { makeAttr } from '../../format/records/index.ts';
import { corePmus, dependsOnCore, onCore } from './cores.ts';
import { formatCpus, parseCpus } from './cpu-list.ts';
import { EventSyntaxError } from './errors.ts';
import { BREAKPOINT_ACCESS } from './facts.ts';
import { isGlob, matchesGlob, nearestGlobs } from './glob.ts';
import { applyModifiers, MODIFIER_LETTERS, type ModifiedEvent, modifierProblem } from './modifiers.ts';
import { cacheEventNames, findCacheEvent, NAMED_EVENTS } from './names.ts';
import { findAbsentPmus, findEvent, findPmuEvents, findPmus } from './pmu.ts';
import { applyPmuTerms } from './pmu-terms.ts';
import { probeConfig, probePmu, readProbe, resolveProbes } from './probe.ts';
import { type EventText, scanEventList, type Term } from './scan.ts';
import { applyGeneralTerm, generalTermNames, parseTermNumber, unknownTerm } from './terms.ts';
import type { EventLookup, ParsedEvent, PmuDescription } from './types.ts';

const LIST_REMEDY = 'To list those of this machine: counterpoint list';
/** What one list may name: every tracepoint of a kernel fits. */
const MOST_EVENTS = 8192;

/** How a list of events is read. */
export interface ParseEventsOptions {
  /** Number of the first group: for lists after other lists. */
  firstGroup?: number;
}

/**
 * Events by name, in perf's grammar: `cycles:u`, `{cycles,instructions}:S`, `sched:sched_*`,
 * `cpu/event=0x3c,umask=1/pp`, `r1a8`, `L1-dcache-load-misses`, `mem:0x1000/8:rw`.
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
    const groups = groupsOf(events.splice(first));
    for (const members of groups) {
      members.forEach((event, index) => {
        event.group = group;
        if (name !== '') event.groupName = name;
        event.isLeader = index === 0;
        if (modifiers !== '') applyModifiers(event, modifiers, true);
        events.push(event);
      });
      group++;
    }
  }
  return events.map(({ choosesGuest: _, isOneOfSeveral: __, ...event }) => event);
}

/**
 * A kernel group has one hardware PMU. Where names became an event on each of
 * several PMUs, so does the group:
 *
 *   {cycles,instructions,cs}  ->  {cpu_atom/cycles/,cpu_atom/instructions/,cs}  {cpu_core/cycles/,cpu_core/instructions/}
 *
 * What is on no PMU of its own stays with the first. A group of PMUs that were written out is left as it is.
 */
function groupsOf(members: readonly ModifiedEvent[]): ModifiedEvent[][] {
  if (!members.some(({ isOneOfSeveral }) => isOneOfSeveral === true)) return [[...members]];
  const isMovable = ({ pmu, attr, probe }: ModifiedEvent) =>
    pmu === undefined || probe !== undefined || attr.type === PERF_TYPE_SOFTWARE;
  const pmus = [...new Set(members.filter((event) => !isMovable(event)).map(({ pmu }) => pmu))];
  if (pmus.length < 2) return [[...members]];
  const note = `the group became ${pmus.length}: ${pmus.join(' and ')} cannot count in one`;
  return pmus.map((pmu, index) => {
    const group = members.filter((event) => (isMovable(event) ? index === 0 : event.pmu === pmu));
    (group[0]!.notes ??= []).push(note);
    return group;
  });
}

function checkModifiers(text: string, letters: string, at: number): void {
  const problem = modifierProblem(letters);
  if (problem !== null) throw new EventSyntaxError(text, at + problem.at, problem.reason);
}

const LONG_RAW = /^r(?:0x)?0*[1-9a-fA-F][0-9a-fA-F]{16,}$/;
const RAW = /^r(?:0x)?0*([0-9a-fA-F]{1,16})$/;
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
    const probes = this.#probes();
    if (probes !== null) return probes;

    const parts = head.split(':');
    const [first = '', second] = parts;
    const named = NAMED_EVENTS.get(first);
    if (named !== undefined) {
      if (named.tool !== undefined) return this.#finish([this.#tool(first, this.#terms)], parts, 1);
      return this.#finish(this.#generics(named.type, named.config, this.#event.text), parts, 1);
    }
    const cache = findCacheEvent(first);
    if (cache !== null) {
      if ('problem' in cache) throw this.#error(at, cache.problem);
      return this.#finish(this.#generics(cache.type, cache.config, first), parts, 1);
    }
    if (terms !== null && parts.length === 1) {
      const pmus = this.#pmusNamed(first);
      if (pmus.length > 0) return this.#finish(this.#pmuEvents(pmus), parts, 1);
      // Newer perf writes the events of the tool itself as if it were a PMU.
      const [tool, ...others] = this.#terms;
      if (first === 'tool' && tool !== undefined && tool.value === null) {
        if (NAMED_EVENTS.get(tool.name)?.tool === undefined) throw this.#unknownTool(tool);
        return this.#finish([this.#tool(tool.name, others)], parts, 1);
      }
    }
    // `read` is a word of cache events before it is raw 0xead.
    const raw = first === 'read' ? null : RAW.exec(first);
    if (LONG_RAW.test(first))
      throw this.#error(this.#event.at + 1, 'a raw event has 64 bits: at most 16 digits');
    if (raw !== null) {
      return this.#finish(this.#generics(PERF_TYPE_RAW, BigInt(`0x${raw[1]}`), this.#event.text), parts, 1);
    }
    const type = parseTermNumber(first);
    const config = second === undefined ? null : parseTermNumber(second);
    if (type !== null && type <= 0xffff_ffffn && config !== null) {
      return this.#finish(this.#generics(Number(type), config, this.#event.text), parts, 2);
    }
    if (terms === null) {
      const aliases = findPmuEvents(first, this.#lookup);
      if (aliases.length > 0) {
        const term = (name: string): Term => ({ name, at, value: null, valueAt: at, quoted: false });
        const events = aliases.map(({ pmu, event }) => this.#pmuEvent(pmu, [term(event)]));
        this.#markSeveral(events, first, parts, 1);
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

  /** An event that the kernel knows by number; one for each kind of core where there are several. */
  #generics(type: number, config: bigint, name: string): ModifiedEvent[] {
    const cores = dependsOnCore(type, config) ? corePmus(this.#lookup) : [];
    if (cores.length < 2) return [this.#generic(type, config, name)];
    const events = cores.map((pmu) => {
      const placed = onCore(type, config, pmu);
      const event = this.#generic(placed.type, placed.config, name);
      event.pmu = pmu.name;
      if (pmu.cpus !== undefined) event.cpus = pmu.cpus;
      return event;
    });
    const parts = this.#event.head.split(':');
    const used = parseTermNumber(parts[0]!) === null ? 1 : 2;
    this.#markSeveral(events, parts.slice(0, used).join(':'), parts, used);
    return events;
  }

  #generic(type: number, config: bigint, name: string): ModifiedEvent {
    const event = this.#start(name, type, config);
    this.#applyTerms(event, this.#terms, true);
    return event;
  }

  /** One name, several PMUs: each event says which is its own, unless it was given a name. */
  #markSeveral(events: ModifiedEvent[], event: string, parts: readonly string[], used: number): void {
    if (events.length < 2) return;
    const { terms, tail } = this.#event;
    const letters = terms === null ? parts.slice(used).join(':') : tail.replace(/^:/, '');
    const termTexts = this.#terms.map((term) => this.#termText(term));
    const inner = [event, ...termTexts].join(',');
    for (const one of events) {
      one.isOneOfSeveral = true;
      // Instances of one uncore PMU are added up in the end, kinds of core are not.
      const isCore = this.#lookup.pmu(one.pmu!)?.isCore === true;
      if (!isCore || this.#terms.some(({ name }) => name === 'name')) continue;
      if (event.includes(':')) {
        // Numbers have no name between slashes; the PMU is in them.
        const numbers = `${one.attr.type}:0x${one.attr.config.toString(16)}`;
        const behind =
          termTexts.length > 0 ? `/${termTexts.join(',')}/${letters}` : letters === '' ? '' : `:${letters}`;
        one.name = numbers + behind;
      } else one.name = `${one.pmu}/${inner}/${letters}`;
    }
  }

  #termText({ name, value, quoted }: Term): string {
    return value === null ? name : `${name}=${quoted ? `'${value}'` : value}`;
  }

  /** This machine's PMUs, unless one of the terms is an event that only a table for another machine has. */
  #pmusNamed(name: string): PmuDescription[] {
    const own = findPmus(name, this.#lookup);
    const hasEvent = (pmu: PmuDescription) =>
      this.#terms.some(
        (term) => term.value === null && findEvent(pmu, term.name.toLowerCase()) !== undefined,
      );
    if (own.some(hasEvent)) return own;
    const absent = findAbsentPmus(name, this.#lookup).filter(hasEvent);
    return absent.length > 0 ? absent : own;
  }

  /**
   * The terms on each of the PMUs that a name or a wildcard means; those that do not
   * have the event are left out.
   */
  #pmuEvents(pmus: readonly PmuDescription[]): ModifiedEvent[] {
    const events: ModifiedEvent[] = [];
    const refused: string[] = [];
    let first: EventSyntaxError | null = null;
    for (const pmu of pmus) {
      try {
        const event = this.#pmuEvent(pmu, this.#terms);
        if (pmus.length > 1) event.isOneOfSeveral = true;
        events.push(event);
      } catch (error) {
        if (!(error instanceof EventSyntaxError)) throw error;
        first ??= error;
        refused.push(`${pmu.name} (${error.reason})`);
      }
    }
    if (events.length === 0) throw first!;
    if (refused.length > 0) (events[0]!.notes ??= []).push(`not on ${refused.join(', ')}`);
    return events;
  }

  #pmuEvent(pmu: PmuDescription, terms: readonly Term[]): ModifiedEvent {
    const event = this.#start(this.#event.text, pmu.type, 0n);
    if (pmu.foreign !== undefined) {
      if (pmu.formats.size === 0) throw this.#withoutFormats(pmu);
      event.foreignPmu = pmu.foreign;
    }
    const several = pmu.isCore === true && corePmus(this.#lookup).length > 1;
    applyPmuTerms(event, pmu, terms, this.#text, several);
    return event;
  }

  #withoutFormats({ name, foreign }: PmuDescription): EventSyntaxError {
    const reason = `an event of ${foreign}, which this machine does not have; only a kernel that has ${name} knows its number and formats`;
    return this.#error(this.#event.at, reason, 'To list the terms of its table: counterpoint list -v table');
  }

  /** What the tool measures itself. */
  #tool(name: string, terms: readonly Term[]): ModifiedEvent {
    const { type, config, tool } = NAMED_EVENTS.get(name)!;
    const event = this.#start(this.#event.text, type, config);
    event.tool = tool!;
    event.unit = 'ns';
    this.#applyTerms(event, terms, true);
    return event;
  }

  /** `uprobe:FILE:FUNCTION` and its kind; `null` for anything else. */
  #probes(): ModifiedEvent[] | null {
    const { head, at } = this.#event;
    const text = readProbe(head, this.#text, at);
    if (text === null) return null;
    const pmu = probePmu(text.kind, this.#text, at, this.#lookup);
    const events = resolveProbes(text, this.#text, this.#lookup).map((probe) => {
      const event = this.#start(this.#event.text, pmu.type, probeConfig(pmu, probe));
      event.attr.config2 = probe.offset;
      event.attr.samplePeriodOrFreq = 1n;
      event.pmu = pmu.name;
      event.probe = probe;
      this.#applyTerms(event, this.#terms, false);
      return event;
    });
    const used = text.placeEnd - at;
    if (isGlob(text.place) || events.length > 1) {
      // The function in the place of the wildcard, or of the name that several have; what
      // stands around it stays.
      for (const event of events) {
        const suffix = this.#event.text.slice(used);
        event.name = this.#event.text.slice(0, text.placeAt - at) + event.probe!.symbol + suffix;
      }
    }
    return this.#finish(
      events,
      [head.slice(0, used), ...(used < head.length ? [head.slice(used + 1)] : [])],
      1,
    );
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

  /**
   * Modifiers: what is left of the head after the parts that name the event, or
   * what stands after the slashes.
   */
  #finish(events: ModifiedEvent[], parts: readonly string[], used: number): ModifiedEvent[] {
    const { head, terms, tail, at, tailAt } = this.#event;
    let letters = parts.slice(used).join(':');
    let lettersAt = at + parts.slice(0, used).join(':').length + 1;
    if (terms !== null) {
      if (letters !== '')
        throw this.#error(at + head.length - letters.length, 'modifiers must follow the last slash');
      letters = tail.startsWith(':') ? tail.slice(1) : tail;
      lettersAt = tailAt + tail.length - letters.length;
    }
    checkModifiers(this.#text, letters, lettersAt);
    if (letters !== '') for (const event of events) applyModifiers(event, letters, false);
    for (const event of events) if (event.name !== this.#event.text) event.requestedName = this.#event.text;
    return this.#onChosenCpus(events);
  }

  /** `cpu=`: on a kind of core only its own CPUs; an event that is left with none is left out. */
  #onChosenCpus(events: ModifiedEvent[]): ModifiedEvent[] {
    const [{ cpus: chosen } = {}] = events.map(({ options }) => options);
    if (chosen === undefined) return events;
    const wanted = parseCpus(chosen);
    const at = this.#terms.find(({ name }) => name === 'cpu')?.valueAt ?? this.#event.at;
    if (wanted === null) throw this.#error(at, 'a range of CPUs must go up, to at most 65535');
    const kept = events.filter((event) => {
      const isCore = event.pmu !== undefined && this.#lookup.pmu(event.pmu)?.isCore === true;
      const own = isCore && event.cpus !== undefined ? parseCpus(event.cpus) : null;
      event.cpus = formatCpus([...wanted].filter((cpu) => own === null || own.has(cpu)));
      return event.cpus !== '';
    });
    if (kept.length === 0) throw this.#error(at, `${events[0]!.pmu} has none of these CPUs`);
    return kept;
  }

  /** `mem:ADDRESS[/LENGTH][:rwx][:modifiers]` */
  #breakpoint(): ModifiedEvent {
    const { head, at } = this.#event;
    const [, place = '', ...more] = head.split(':');
    const slash = place.indexOf('/');
    const addressAt = at + 'mem:'.length;
    const number = (slash < 0 ? place : place.slice(0, slash)).replace(/^0x0+(?=.)/, '0x');
    const address = parseTermNumber(number);
    if (address === null && /^0x[0-9a-fA-F]{17,}$/.test(number))
      throw this.#error(addressAt, 'mem: an address has 64 bits: at most 16 digits');
    if (address === null) throw this.#error(addressAt, 'mem: expects an address, as in mem:0x1000/8:rw');
    let access = 0;
    let used = 2;
    const parts = head.split(':');
    if (more[0] !== undefined && /^[rwx]/.test(more[0])) {
      // `wu`: what follows the access are modifiers, as if behind a colon of their own.
      const letters = /^[rwx]+(?=[^rwx])/.exec(more[0])?.[0] ?? more[0];
      if (letters !== more[0]) parts.splice(2, 1, letters, more[0].slice(letters.length));
      access = this.#access(letters, addressAt + place.length + 1);
      used = 3;
    }
    if (access === 0) access = 3;
    let length: bigint | null = access === 4 ? 8n : 4n;
    if (slash >= 0) {
      length = parseTermNumber(place.slice(slash + 1));
      if (length === null || ![1n, 2n, 4n, 8n].includes(length)) {
        throw this.#error(addressAt + slash + 1, 'the length of a breakpoint must be 1, 2, 4 or 8');
      }
    }
    const event = this.#start(this.#event.text, PERF_TYPE_BREAKPOINT, 0n);
    event.attr.breakpointType = access;
    event.attr.config1 = address;
    event.attr.config2 = length;
    event.attr.samplePeriodOrFreq = 1n;
    return this.#finish([event], parts, used)[0]!;
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

  #error(column: number, reason: string, remedy?: string): EventSyntaxError {
    return new EventSyntaxError(this.#text, column, reason, remedy);
  }

  #unknownTracepoint(system: string, name: string): EventSyntaxError {
    const { at } = this.#event;
    const all = this.#lookup.tracepointNames();
    if (isGlob(system) || isGlob(name)) {
      const near = nearestGlobs(system, name, all);
      return this.#error(at, `no tracepoint matches${didYouMean(near)}`, LIST_REMEDY);
    }
    const inSystem = all.filter((full) => full.startsWith(`${system}:`));
    if (inSystem.length > 0) {
      const near = nearestNames(
        name,
        inSystem.map((full) => full.slice(system.length + 1)),
      );
      const reason = `unknown tracepoint of ${system}${didYouMean(near.map((event) => `${system}:${event}`))}`;
      return this.#error(
        at + system.length + 1,
        reason,
        `To list its tracepoints: counterpoint list ${system}:`,
      );
    }
    const systems = new Set(all.map((full) => full.slice(0, full.indexOf(':'))));
    return this.#error(
      at,
      `unknown tracepoint${didYouMean(nearestNames(system, systems).map((found) => `${found}:…`))}`,
      LIST_REMEDY,
    );
  }

  #unknownTool({ name, at }: Term): EventSyntaxError {
    const tools = [...NAMED_EVENTS].flatMap(([known, { tool }]) => (tool === undefined ? [] : [known]));
    return this.#error(
      at,
      `unknown event of the tool${didYouMean(nearestNames(name, tools))}`,
      `Known: ${tools.join(', ')}`,
    );
  }

  #unknown(name: string): EventSyntaxError {
    const { at, terms } = this.#event;
    const lookup = this.#lookup;
    if (terms !== null) {
      const absent = findAbsentPmus(name, lookup);
      const term = this.#terms.find(({ value }) => value === null);
      if (absent.length > 0 && term !== undefined) {
        const events = absent.flatMap((pmu) => [...pmu.events.keys()]);
        const near = nearestNames(term.name, events);
        return this.#error(term.at, `no event of ${name} in its tables${didYouMean(near)}`);
      }
      const near = nearestNames(name, lookup.pmuNames());
      const reason = `this machine has no PMU ${name}${didYouMean(near)}`;
      return this.#error(at, reason, `PMUs here: ${[...lookup.pmuNames()].join(', ')}`);
    }
    if (findPmus(name, lookup).length > 0) {
      return this.#error(at, `${name} is a PMU, not an event; write ${name}/event=…/`);
    }
    const known = new Set([...NAMED_EVENTS.keys(), ...cacheEventNames()]);
    for (const pmu of lookup.pmuNames())
      for (const event of lookup.pmu(pmu)?.events.keys() ?? []) known.add(event);
    for (const { events } of lookup.absentPmus?.() ?? []) for (const event of events.keys()) known.add(event);
    return this.#error(at, `unknown event${didYouMean(nearestNames(name, known))}`, LIST_REMEDY);
  }
}
