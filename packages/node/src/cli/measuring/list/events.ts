import { didYouMean, nearestNames } from '@counterpoint/core/base';
import {
  type CatalogEvent,
  catalogEvents,
  EVENT_KINDS,
  type EventKind,
  isGlob,
  matchesGlob,
} from '@counterpoint/core/events';
import {
  type Availability,
  eventAvailability,
  type SystemEventLookup,
  systemEventLookup,
} from '../../../linux/kernel/local-pmus/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import { EXIT_FAILURE, EXIT_OK } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';

export interface ListOptions {
  json: boolean;
  /** The names alone, of what this machine has. */
  isRaw?: boolean;
  withDescriptions: boolean;
  /** Fields of tracepoints, terms of the kernel's events. */
  verbose: boolean;
}

/** Words for kinds: perf's, and ours. */
const KIND_WORDS: Readonly<Record<string, EventKind>> = {
  hw: 'hardware',
  hardware: 'hardware',
  sw: 'software',
  software: 'software',
  cache: 'cache',
  hwcache: 'cache',
  tool: 'tool',
  pmu: 'pmu',
  table: 'table',
  tables: 'table',
  tracepoint: 'tracepoint',
  tracepoints: 'tracepoint',
  raw: 'form',
};

const TITLES: Readonly<Record<EventKind, string>> = {
  hardware: 'Hardware events (hw)',
  software: 'Software events (sw)',
  cache: 'Cache events (cache)',
  tool: 'Measured by the tool (tool)',
  pmu: "Events of the kernel's tables (pmu)",
  table: "Events of vendors' tables (table)",
  tracepoint: 'Tracepoints (tracepoint)',
  form: 'Forms of events without a name (raw)',
};

/** What names do not say. */
const HINTS: ReadonlyMap<string, string> = new Map([
  [
    'ftrace:function',
    'each function of the kernel, if the kernel may change its own code (a hardened kernel may not)',
  ],
]);

const TRIED: ReadonlySet<EventKind> = new Set(['hardware', 'software', 'cache']);

/**
 * The mark of an event that cannot be counted, or that could not be tried; empty
 * where there is nothing to say.
 */
function markOf({ kind, availability }: ListedEvent): string {
  switch (availability.state) {
    case 'absent':
      return 'not supported';
    case 'forbidden':
      return 'not permitted';
    case 'unknown':
      return TRIED.has(kind) ? 'not tried' : '';
    default:
      return '';
  }
}

/** A kind of which nothing can be said. */
interface Gap {
  kind: EventKind;
  why: string;
  remedy: string;
}

interface ListedEvent extends CatalogEvent {
  availability: Availability;
}

/** `counterpoint list`: 0 where something was found. */
export function listEvents(
  words: readonly string[],
  options: ListOptions,
  out: Output,
  err: Output,
  lookup: SystemEventLookup = systemEventLookup(),
): number {
  const { kinds, patterns } = readWords(words);
  // perf counts them among these.
  if (options.isRaw === true && kinds.has('software')) kinds.add('tool');
  const events: ListedEvent[] = [];
  for (const event of catalogEvents(lookup, (kind) => kinds.has(kind))) {
    if (!matches(event, patterns)) continue;
    events.push({ ...event, availability: eventAvailability(event, lookup, realSys) });
  }
  const gaps = kinds.has('tracepoint') ? tracepointGap(lookup) : [];
  if (options.json) {
    out.json({
      type: 'event-list',
      version: 1,
      events: events.map((event) => jsonOf(event, lookup, options)),
      gaps,
    });
    return statusOf(events, patterns, gaps);
  }
  if (options.isRaw === true) out.line(rawNames(events).join(' '));
  else printSections(events, options, out, lookup);
  for (const { kind, why, remedy } of gaps) {
    err.line(`${TITLES[kind]}: ${why}`);
    for (const line of remedy.split('\n')) err.line(`  ${line}`);
  }
  if (events.length === 0 && patterns.length > 0) err.line(nothingFound(patterns, kinds, lookup));
  else if (events.length === 0)
    for (const kind of kinds)
      if (!gaps.some((gap) => gap.kind === kind))
        err.line(
          kind === 'table'
            ? `${TITLES[kind]}: none is loaded\n  Name a file or a directory of tables: --event-tables PATH`
            : `${TITLES[kind]}: this machine has none`,
        );
  return statusOf(events, patterns, gaps);
}

/** Names that can be given to -e as they are. */
function rawNames(events: readonly ListedEvent[]): string[] {
  return events
    .filter(({ kind, availability }) => kind !== 'form' && availability.state !== 'absent')
    .map(({ name }) => name);
}

function statusOf(events: readonly ListedEvent[], patterns: readonly string[], gaps: readonly Gap[]): number {
  if (events.length > 0) return EXIT_OK;
  return gaps.length > 0 && patterns.length === 0 ? EXIT_OK : EXIT_FAILURE;
}

/** Words that name kinds choose among them; of the other words, an event must match one. */
function readWords(words: readonly string[]): { kinds: Set<EventKind>; patterns: string[] } {
  const kinds = new Set<EventKind>();
  const patterns: string[] = [];
  for (const word of words) {
    const kind = Object.hasOwn(KIND_WORDS, word) ? KIND_WORDS[word] : undefined;
    if (kind === undefined) patterns.push(word.toLowerCase());
    else kinds.add(kind);
  }
  return { kinds: kinds.size > 0 ? kinds : new Set(EVENT_KINDS), patterns };
}

/**
 * A wildcard fits the whole name; other words are looked for inside names and
 * descriptions. Case does not count.
 */
function matches(event: CatalogEvent, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return true;
  const names = [event.name, ...event.aliases].map((name) => name.toLowerCase());
  // `cas_count*` is meant for uncore_imc_0/cas_count_read/ too.
  if (event.kind === 'pmu' || event.kind === 'table') names.push(names[0]!.split('/')[1]!);
  const description = event.description?.toLowerCase() ?? '';
  return patterns.some((pattern) =>
    isGlob(pattern)
      ? names.some((name) => matchesGlob(name, pattern))
      : names.some((name) => name.includes(pattern)) || description.includes(pattern),
  );
}

function tracepointGap(lookup: SystemEventLookup): Gap[] {
  if (lookup.tracepointNames().length > 0) return [];
  const answer = lookup.tracepoint('sched', 'sched_switch');
  const { unavailable, remedy } =
    answer !== null && typeof answer === 'object'
      ? answer
      : { unavailable: 'this kernel has none', remedy: 'It was built without CONFIG_TRACING.' };
  return [{ kind: 'tracepoint', why: unavailable, remedy }];
}

function jsonOf(
  event: ListedEvent,
  lookup: SystemEventLookup,
  { verbose }: ListOptions,
): Record<string, unknown> {
  const { name, aliases, kind, pmu, description, unit, scale, terms, availability } = event;
  const { source, details, samplePeriod } = event;
  const [system = '', tracepoint = ''] = name.split(':');
  const fields =
    kind === 'tracepoint' && verbose ? (lookup.tracepointFields?.(system, tracepoint) ?? null) : null;
  return {
    name,
    aliases,
    kind,
    pmu,
    description,
    unit,
    scale,
    terms,
    availability,
    ...(source === null ? {} : { source, details, samplePeriod: samplePeriod?.toString() ?? null }),
    ...(fields === null ? {} : { fields: fields.map(({ name: field, type }) => ({ name: field, type })) }),
  };
}

const NAME_COLUMN = 44;

function printSections(
  events: readonly ListedEvent[],
  options: ListOptions,
  out: Output,
  lookup: SystemEventLookup,
): void {
  const { bold, dim, yellow } = out.style;
  let isFirst = true;
  for (const kind of EVENT_KINDS) {
    const section = events.filter((event) => event.kind === kind);
    if (section.length === 0) continue;
    if (!isFirst) out.line();
    isFirst = false;
    out.line(bold(TITLES[kind]));
    // The same reason for all is said once.
    const reasons = new Map<string, string>();
    for (const event of section) {
      const mark = markOf(event);
      if (mark !== '') reasons.set(event.availability.why, mark);
    }
    for (const [reason, mark] of reasons) out.line(`  ${yellow(`[${mark}]`)} ${reason}`);
    for (const event of section) {
      const names = [event.name, ...event.aliases].join(' OR ');
      const mark = markOf(event);
      const about = [
        mark === '' ? '' : yellow(`[${mark}]`),
        event.unit === null ? '' : `[${event.unit}]`,
        options.withDescriptions ? (event.description ?? HINTS.get(event.name) ?? '') : '',
      ].filter((part) => part !== '');
      const left = `  ${names}`;
      if (about.length === 0) out.line(left);
      else if (left.length < NAME_COLUMN) out.line(`${left.padEnd(NAME_COLUMN)}${about.join(' ')}`);
      else out.line(`${left}\n${' '.repeat(NAME_COLUMN)}${about.join(' ')}`);
      if (options.verbose) for (const line of details(event, lookup)) out.line(dim(`      ${line}`));
    }
  }
}

function details(event: ListedEvent, lookup: SystemEventLookup): string[] {
  if (event.source !== null) {
    const period = event.samplePeriod === null ? [] : [`sampled every ${event.samplePeriod} by default`];
    return [event.terms ?? '', ...event.details, ...period, event.source];
  }
  if (event.terms !== null) return [event.terms];
  if (event.kind !== 'tracepoint') return [];
  const [system = '', name = ''] = event.name.split(':');
  const fields = lookup.tracepointFields?.(system, name) ?? [];
  return fields
    .filter((field) => !field.name.startsWith('common_'))
    .map((field) => `${field.name}: ${field.type}`);
}

function nothingFound(
  patterns: readonly string[],
  kinds: ReadonlySet<EventKind>,
  lookup: SystemEventLookup,
): string {
  const names: string[] = [];
  for (const event of catalogEvents(lookup, (kind) => kinds.has(kind)))
    names.push(event.name, ...event.aliases);
  const near = patterns.flatMap((pattern) => nearestNames(pattern, names));
  return `no event matches ${patterns.join(', ')}${didYouMean(near.slice(0, 3))}`;
}
