import { didYouMean, nearestNames } from '../../base/index.ts';
import type { PerfEventAttr } from '../../format/records/index.ts';
import { EventSyntaxError } from './errors.ts';
import type { ParsedEvent } from './types.ts';

/**
 * Events in libpfm4's grammar, which libpfm4 itself reads; what is done here is the list around them (that of
 * perf's `--pfm-events`), and finding what was wrong:
 *
 *   {skx::L2_RQSTS:MISS:u:c=1,cycles:k},perf::faults
 *    pmu  event    attributes
 */
export interface PfmLibrary {
  /** What an event means to the hardware and to perf, or what was wrong with it. */
  encode(event: string): PfmEncoding | PfmProblem;
  /** Every table of this build. */
  pmus(): readonly PfmPmu[];
  /** Every event of one table. */
  events(pmu: PfmPmu): readonly PfmEvent[];
  /** Unit masks and modifiers that an event can have. */
  attributes(event: PfmEvent): readonly PfmAttribute[];
}

/** A table of libpfm4: one PMU of one generation of processors. */
export interface PfmPmu {
  /** As it stands before `::`: `skx`, `perf`. */
  readonly name: string;
  /** For people: `Intel SkylakeX`. */
  readonly description: string;
  /** Whether this machine has it. */
  readonly isPresent: boolean;
  /** Number of counters for any event. */
  readonly counters: number;
  /** Number of counters for one event each. */
  readonly fixedCounters: number;
  /** libpfm's index of its first event; -1: it has none. */
  readonly firstEvent: number;
}

/** An event of such a table. */
export interface PfmEvent {
  /** As it stands behind `::`. */
  readonly name: string;
  /** For people. */
  readonly description: string;
  /** libpfm's index. */
  readonly index: number;
  /** Number of its attributes. */
  readonly attributeCount: number;
}

/** What may stand behind an event: `:MISS`, `:u`, `:c=1`. */
export interface PfmAttribute {
  /** As it is written, without the colon. */
  readonly name: string;
  /** For people. */
  readonly description: string;
  /** A unit mask, which says what is counted; else a modifier, such as `c` or `period`. */
  readonly isUnitMask: boolean;
  /** The unit mask that counts where none is written. */
  readonly isDefault: boolean;
}

/** What libpfm4 makes of an event. */
export interface PfmEncoding {
  /** `null` where perf has no form for the PMU: then only `codes` can be had. */
  readonly attr: PerfEventAttr | null;
  /** The only CPU to open it on; -1 is any. */
  readonly cpu: number;
  /** With everything that was left out: `skx::L2_RQSTS:MISS:e=0:…`. */
  readonly fullName: string;
  /** What the hardware takes, word by word; empty if there is none, as for software events. */
  readonly codes: readonly bigint[];
  /** The table that has it. */
  readonly pmu: PfmPmu;
}

/** Why libpfm4 did not take an event. */
export interface PfmProblem {
  /** What of the event libpfm did not take. */
  readonly part: 'event' | 'attribute' | 'value' | 'missing-mask' | 'other';
  /** In its own words. */
  readonly text: string;
}

/** Events for `stat` and `record`: those that have an attr. */
export function parsePfmEvents(
  text: string,
  library: PfmLibrary,
  { firstGroup = 0 }: { firstGroup?: number } = {},
): ParsedEvent[] {
  const parsed: ParsedEvent[] = [];
  const leaders = new Set<number>();
  for (const { name, at, group } of scanPfmList(text)) {
    const { attr, cpu, codes, pmu } = encodePfmEvent(name, text, at, library);
    if (attr === null) {
      const words = codes.map((code) => `0x${code.toString(16)}`).join(' ');
      throw new EventSyntaxError(
        text,
        at,
        `perf has no form for events of ${pmu.name}, only the hardware's own: ${words}`,
      );
    }
    const inGroup = group === null ? null : firstGroup + group;
    const event: ParsedEvent = {
      name,
      attr,
      group: inGroup,
      isLeader: inGroup === null || !leaders.has(inGroup),
      periodGiven: attr.samplePeriodOrFreq !== 0n,
      pmu: pmu.name,
      options: {},
    };
    if (inGroup !== null) leaders.add(inGroup);
    if (cpu >= 0) event.cpus = String(cpu);
    if (!pmu.isPresent) event.foreignPmu = pmu.description;
    parsed.push(event);
  }
  return parsed;
}

/** One event, or an error that points into `source`, where it stands at `at`. */
export function encodePfmEvent(name: string, source: string, at: number, library: PfmLibrary): PfmEncoding {
  const strange = /[\x00-\x1f\x7f]/.exec(name);
  if (strange !== null)
    throw new EventSyntaxError(source, at + strange.index, 'a name cannot contain a control character');
  if (name.length > LONGEST_NAME)
    throw new EventSyntaxError(source, at, `longer than ${LONGEST_NAME} characters`);
  const encoding = library.encode(name);
  if ('part' in encoding) throw explain(name, encoding, source, at, library);
  return encoding;
}

/** Beyond any name with all its attributes; libpfm copies names to its stack. */
const LONGEST_NAME = 1024;

interface PfmItem {
  readonly name: string;
  readonly at: number;
  readonly group: number | null;
}

function scanPfmList(text: string): PfmItem[] {
  const items: PfmItem[] = [];
  let group = -1;
  let openAt = -1;
  let start = 0;
  let isClosed = false;
  const fail = (at: number, reason: string) => new EventSyntaxError(text, at, reason);
  const take = (end: number) => {
    const piece = text.slice(start, end);
    const name = piece.trim();
    const at = start + piece.length - piece.trimStart().length;
    if (isClosed ? name !== '' : name === '') {
      throw fail(
        at,
        isClosed
          ? 'expected , after }'
          : `expected an event, found ${end < text.length ? `'${text[end]}'` : 'the end'}`,
      );
    }
    if (!isClosed) items.push({ name, at, group: openAt < 0 ? null : group });
    isClosed = false;
  };
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!;
    if (character === ',') {
      take(index);
    } else if (character === '{') {
      if (openAt >= 0 || text.slice(start, index).trim() !== '' || isClosed)
        throw fail(index, "unexpected '{'");
      openAt = index;
      group++;
    } else if (character === '}') {
      if (openAt < 0) throw fail(index, "unexpected '}'");
      take(index);
      openAt = -1;
      isClosed = true;
    } else {
      continue;
    }
    start = index + 1;
  }
  if (openAt >= 0) throw fail(openAt, 'this group is not closed: } is missing');
  take(text.length);
  return items;
}

/** `pmu::EVENT:attribute:attribute=value` apart. */
function partsOf(name: string): {
  pmu: string | null;
  event: string;
  eventAt: number;
  attributes: { text: string; at: number }[];
} {
  const double = name.indexOf('::');
  const eventAt = double < 0 ? 0 : double + 2;
  const [event = '', ...rest] = name.slice(eventAt).split(/[:.]/);
  let at = eventAt + event.length + 1;
  const attributes = rest.map((text) => {
    const attribute = { text, at };
    at += text.length + 1;
    return attribute;
  });
  return { pmu: double < 0 ? null : name.slice(0, double), event, eventAt, attributes };
}

function explain(
  name: string,
  problem: PfmProblem,
  source: string,
  at: number,
  library: PfmLibrary,
): EventSyntaxError {
  const { pmu, event, eventAt, attributes } = partsOf(name);
  const fail = (column: number, reason: string, remedy?: string) =>
    new EventSyntaxError(source, at + column, reason, remedy);
  const pmus = library.pmus();
  const table = pmu === null ? null : (pmus.find((one) => sameName(one.name, pmu)) ?? null);
  if (pmu !== null && table === null) {
    const near = nearOrInside(
      pmu,
      pmus.map((one) => one.name),
    );
    return fail(
      0,
      `this libpfm has no table of a PMU ${pmu}${didYouMean(near)}`,
      'It has the tables of the architecture for which it was built: counterpoint list --pfm',
    );
  }
  const tables = table === null ? pmus.filter(({ isPresent }) => isPresent) : [table];
  const events = tables.flatMap((one) => library.events(one));
  const known = events.find((one) => sameName(one.name, event));
  if (known === undefined) {
    const near = nearestNames(
      event,
      events.map((one) => one.name),
    );
    const where = table === null ? 'the PMUs of this machine have' : `${table.name} has`;
    const elsewhere =
      table === null && near.length === 0
        ? 'For another CPU, name its PMU: PMU::EVENT. counterpoint list --pfm lists them.'
        : undefined;
    return fail(eventAt, `${where} no event ${event}${didYouMean(near)}`, elsewhere);
  }
  const allowed = library.attributes(known);
  for (const { text, at: column } of attributes) {
    const word = text.split('=', 1)[0]!;
    // A number is a unit mask by its code.
    if (/^0x[0-9a-f]+$/i.test(word) || allowed.some((one) => sameName(one.name, word))) continue;
    const near = nearestNames(
      word,
      allowed.map((one) => one.name),
    );
    return fail(
      column,
      `${known.name} has no attribute ${word}${didYouMean(near)}`,
      `Attributes: ${allowed.map((one) => one.name).join(', ')}`,
    );
  }
  if (problem.part === 'missing-mask') {
    const masks = allowed.filter(({ isUnitMask }) => isUnitMask).map((one) => one.name);
    return fail(eventAt + event.length, `${known.name}: ${problem.text}`, `Unit masks: ${masks.join(', ')}`);
  }
  const base = `${pmu === null ? '' : `${pmu}::`}${event}`;
  // The one that is refused even alone.
  const culprit = attributes.find(({ text }) => {
    const alone = library.encode(`${base}:${text}`);
    return 'part' in alone && alone.part === problem.part;
  });
  const wrong = culprit ?? attributes.at(-1);
  return wrong === undefined
    ? fail(0, `libpfm: ${problem.text}`)
    : fail(wrong.at, `${wrong.text}: ${problem.text}`);
}

const sameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** `zen3` is meant to be `amd64_fam19h_zen3`. */
function nearOrInside(word: string, names: readonly string[]): string[] {
  const near = nearestNames(word, names);
  return near.length > 0 ? near : names.filter((name) => name.includes(word.toLowerCase())).slice(0, 3);
}
