/**
 * The events of a recording with sampling formats: each format has copies of its own, since an
 * event has room for one program.
 */
import {
  PERF_COUNT_SW_BPF_OUTPUT,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_COUNT_SW_DUMMY,
  PERF_COUNT_SW_TASK_CLOCK,
  PERF_MAX_STACK_DEPTH,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import { checkOptions, either, OBJECT, type OptionsOf, required, TEXT } from '../../../host/options/index.ts';
import {
  addNote,
  type Note,
  type OpenTarget,
  type PlannedEvent,
  type SampledEvents,
} from '../../kernel/perf-events/index.ts';
import { kernelSetting } from '../../kernel/probe/index.ts';
import {
  checkedFormat,
  checkFormatOptions,
  type FormatRequest,
  type FormatSampleFields,
  findFormat,
  mapMemoryBytes,
  type OwnEvent,
  parseFormatOptions,
  planOf,
  requireSuspension,
  type SamplingFormat,
  splitSpecification,
} from '../formats/index.ts';
import type { FormatChoice, RecordOptions } from './options.ts';
import { resolveEvents, type Scope } from './request.ts';

/** A format with its options, checked. */
export interface ChosenFormat {
  readonly format: SamplingFormat;
  readonly options: Readonly<Record<string, unknown>>;
}

/** In the order given; none: the kernel's own records. `adapt` sees each before its options are read. */
export async function chooseFormats(
  formats: RecordOptions['formats'] = [],
  adapt: (format: SamplingFormat) => SamplingFormat = (format) => format,
): Promise<ChosenFormat[]> {
  const chosen: ChosenFormat[] = [];
  for (const one of formats) {
    if (typeof one === 'string') {
      const { name, options } = splitSpecification(one);
      const format = adapt(await findFormat(name, one));
      chosen.push({ format, options: parseFormatOptions(format.name, format.options, options) });
      continue;
    }
    checkOptions('a sampling format', one, FORMAT_CHOICE, 'ERR_FORMAT_OPTION');
    const format = adapt(
      typeof one.format === 'string'
        ? await findFormat(one.format)
        : checkedFormat('the given object is not a format', one.format),
    );
    chosen.push({ format, options: checkFormatOptions(format.name, format.options, one.options ?? {}) });
  }
  return chosen;
}

const FORMAT_CHOICE: OptionsOf<FormatChoice> = { format: required(either(TEXT, OBJECT)), options: OBJECT };

const CLOCK_MONOTONIC = 1;

/** Programs read CLOCK_MONOTONIC, and so their times and those of the kernel's records are on one clock. */
export function clockedBy(formats: readonly ChosenFormat[], options: RecordOptions): RecordOptions {
  const watcher = formats.find(
    ({ format }) => format.onOverflow !== undefined || format.ownEvents !== undefined,
  );
  const { clockId = CLOCK_MONOTONIC } = options;
  if (watcher !== undefined && clockId !== CLOCK_MONOTONIC)
    throw new CounterpointError(
      'ERR_FORMAT_CLOCK',
      `the format ${watcher.format.name} has times on the clock monotonic, but clock ${clockId} was requested`,
      'Leave out -k or the format.',
    );
  return formats.length > 0 ? { ...options, clockId } : options;
}

/** The events that were asked for; none where every format has its own and none were. */
export async function eventsFor(
  { events, filters }: Pick<RecordOptions, 'events' | 'filters'>,
  formats: readonly ChosenFormat[],
): Promise<ParsedEvent[]> {
  const areOwn = formats.length > 0 && formats.every(({ format }) => format.ownEvents !== undefined);
  if (areOwn && events !== undefined && events.length > 0)
    throw new CounterpointError(
      'ERR_FORMAT_EVENT',
      `no events are sampled, because the format ${formats[0]!.format.name} has its own events`,
      'Leave out the events, or add --format ring to sample them, too.',
    );
  return areOwn ? [] : await resolveEvents(events, filters);
}

/** The events of a recording, and which of them are whose. */
export interface FormatEvents {
  readonly parsed: readonly ParsedEvent[];
  /** In the order of the formats: `[from, to)` of `parsed`. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** One format after the other. Without formats the events are what they are. */
export function eventsOfFormats(
  events: readonly ParsedEvent[],
  formats: readonly ChosenFormat[],
): FormatEvents {
  if (formats.length === 0) return { parsed: events, ranges: [] };
  const groups = 1 + Math.max(-1, ...events.map(({ group }) => group ?? -1));
  const parsed: ParsedEvent[] = [];
  const ranges = formats.map(({ format }, copy) => {
    const from = parsed.length;
    if (format.ownEvents !== undefined) parsed.push(...format.ownEvents.map(ownEvent));
    else
      for (const event of events)
        parsed.push({ ...event, group: event.group === null ? null : event.group + copy * groups });
    return [from, parsed.length] as const;
  });
  return { parsed, ranges };
}

/** An event that no one but programs writes to, and ours do not: it is there for its samples. */
function ownEvent({ name, callchains = false }: OwnEvent): ParsedEvent {
  const attr = makeAttr({
    type: PERF_TYPE_SOFTWARE,
    config: BigInt(PERF_COUNT_SW_BPF_OUTPUT),
    samplePeriodOrFreq: 1n,
  });
  const options = { callGraph: callchains ? 'fp' : 'no' } as const;
  return { name, attr, group: null, isLeader: true, periodGiven: true, options };
}

/** perf finds the frame information of a binary by the map of its first page, which is data. */
function trackData(planned: readonly PlannedEvent[]): void {
  for (const { attr } of planned) if (attr.flags.mmap !== 0) attr.flags.mmapData = 1;
}

const SAMPLE_BITS: bigint = BigInt(
  PERF_SAMPLE_IDENTIFIER |
    PERF_SAMPLE_IP |
    PERF_SAMPLE_TID |
    PERF_SAMPLE_TIME |
    PERF_SAMPLE_CPU |
    PERF_SAMPLE_PERIOD,
);

/** The target of a recording, as formats get it. */
export function formatTarget(
  { kind }: Scope,
  { tasks, cpus }: OpenTarget,
  { inherit = true }: Pick<RecordOptions, 'inherit'>,
): FormatRequest['target'] {
  return { kind, cpus, ids: tasks.filter((task) => task >= 0), inherits: inherit };
}

/**
 * Prepares the events for what the formats record. `ring` leaves its events as they are. `parts`: the parts
 * of call chains, also if only a format records them.
 */
export function prepareEvents(
  planned: readonly PlannedEvent[],
  formats: readonly ChosenFormat[],
  { ranges }: FormatEvents,
  target: FormatRequest['target'],
  notes: Note[],
  parts: RecordOptions['callchains'] = 'both',
): void {
  refuseMixedRecords(planned, formats, ranges);
  formats.forEach(({ format, options }, index) => {
    const events = planned.slice(...ranges[index]!);
    const plan = planOf(format, options, { ...target, events });
    noteMemory(format, plan.maps ?? [], notes);
    // Of whole CPUs there are no children, but the kernel asks the flag alone.
    if (plan.suspend === true && target.kind === 'cpus')
      for (const { attr } of events) attr.flags.inherit = 0;
    requireSuspension(format, plan, events);
    const { callchains = false, sampleFields, suspend = false } = plan;
    for (const event of events) {
      if (suspend) event.hasNoRing = true;
      const { attr, name, probe = null } = event;
      if (sampleFields !== undefined) addFields(event, sampleFields);
      if (format.onOverflow === undefined && format.ownEvents === undefined) continue;
      if (attr.flags.freq === 0 && attr.samplePeriodOrFreq === 0n)
        throw new CounterpointError(
          'ERR_FORMAT_EVENT',
          `${name} only follows the leader of its group, so it has no overflows for the format ${format.name}`,
          'Sample it outside the group.',
        );
      attr.sampleType |= SAMPLE_BITS;
      if (callchains !== false) {
        attr.sampleType |= BigInt(PERF_SAMPLE_CALLCHAIN);
        if (parts === 'user') attr.flags.excludeCallchainKernel = 1;
        if (parts === 'kernel') attr.flags.excludeCallchainUser = 1;
      } else if ((attr.sampleType & BigInt(PERF_SAMPLE_CALLCHAIN)) !== 0n) {
        attr.sampleType &= ~BigInt(PERF_SAMPLE_CALLCHAIN);
        addNote(notes, {
          kind: 'no-callchains',
          text: `${format.name} keeps no call chains. Use --format stacks`,
        });
      }
      const bitsOfOthers: number[] = [];
      if (typeof callchains === 'object') {
        attr.sampleMaxStack = callchains.mostFrames;
        // At the first instruction of a function only the kernel finds the caller.
        if (probe === null && callchains.isFoundByHandler?.(attr) === true)
          bitsOfOthers.push(PERF_SAMPLE_CALLCHAIN);
        if (callchains.userStacks !== undefined && attr.flags.excludeCallchainUser === 0) {
          // As in recordings of copied stacks: what reads it unwinds the samples that have one.
          trackData(planned);
          attr.flags.excludeCallchainUser = 1;
          attr.sampleRegsUser = callchains.userStacks.registers;
          attr.sampleStackUser = callchains.userStacks.bytes;
          for (const bit of [PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER]) {
            attr.sampleType |= BigInt(bit);
            bitsOfOthers.push(bit);
          }
        }
      }
      const hasPeriod = attr.flags.freq === 0 && attr.samplePeriodOrFreq > 1n;
      if (hasPeriod && isCountedByHits(attr)) bitsOfOthers.push(PERF_SAMPLE_PERIOD);
      if (bitsOfOthers.length > 0)
        event.sampleBitsOfOthers = bitsOfOthers.reduce((bits, bit) => bits | BigInt(bit), 0n);
      if (attr.type !== PERF_TYPE_TRACEPOINT && probe === null) continue;
      if (probe !== null) event.isDefined = true;
      if (hasPeriod) event.hitsPerOverflow = hitsPerOverflow(event);
      // Its own records are not wanted beside what the format makes: it only counts.
      attr.flags.freq = 0;
      attr.samplePeriodOrFreq = 0n;
      attr.sampleType &= ~BigInt(PERF_SAMPLE_RAW);
    }
  });
  if (formats.length > 0) for (const { attr } of planned) tellChainLimit(attr);
}

/**
 * Formats have limits of their own, so that none can be told from the deepest chain of a recording: each
 * event says its own.
 */
function tellChainLimit(attr: PerfEventAttr): void {
  if ((attr.sampleType & BigInt(PERF_SAMPLE_CALLCHAIN)) === 0n || attr.sampleMaxStack !== 0) return;
  const most = kernelSetting('perf_event_max_stack') ?? PERF_MAX_STACK_DEPTH;
  if (most > 0) attr.sampleMaxStack = most;
}

/** What maps may take without a word. */
const QUIET_BYTES = 1e9;

function noteMemory(
  { name }: SamplingFormat,
  maps: Parameters<typeof mapMemoryBytes>[0],
  notes: Note[],
): void {
  const bytes = mapMemoryBytes(maps);
  if (bytes < QUIET_BYTES) return;
  const text = `${name}: its maps take ${(bytes / 1e9).toFixed(1)} GB of memory with these options`;
  addNote(notes, { kind: 'format-memory', text });
}

/** Software events that have timers of their own, or never overflow. */
const BY_THEMSELVES: ReadonlySet<bigint> = new Set(
  [PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_BPF_OUTPUT].map(
    BigInt,
  ),
);

/**
 * Where the kernel is to tell the period, it takes each hit of such an event for an overflow of period
 * 1, whatever the period is. Samples of formats tell it; so the kernel is not told to, and the
 * handlers keep none of its records.
 */
function isCountedByHits({ type, config }: PlannedEvent['attr']): boolean {
  return type === PERF_TYPE_BREAKPOINT || (type === PERF_TYPE_SOFTWARE && !BY_THEMSELVES.has(config));
}

const MOST_HITS = 2 ** 31 - 1;

function hitsPerOverflow({ name, attr }: PlannedEvent): number {
  const hits = Number(attr.samplePeriodOrFreq);
  if (hits <= MOST_HITS) return hits;
  throw new CounterpointError(
    'ERR_FORMAT_EVENT',
    `a period of ${hits} hits of ${name} is more than a program can count`,
    `The most is ${MOST_HITS}.`,
  );
}

/**
 * All copies of a software event take part in one overflow, and there the kernel (6.18, with
 * perf, too) writes the records of one copy with the id of another. Formats whose handlers
 * drop the records do not see that.
 */
function refuseMixedRecords(
  planned: readonly PlannedEvent[],
  formats: readonly ChosenFormat[],
  ranges: FormatEvents['ranges'],
): void {
  const recorder = formats.findIndex(
    ({ format }) => format.onOverflow === undefined && format.ownEvents === undefined,
  );
  const isAlone = formats.filter(({ format }) => format.ownEvents === undefined).length < 2;
  if (recorder < 0 || isAlone) return;
  const mixed = planned
    .slice(...ranges[recorder]!)
    .find(({ attr }) => attr.type === PERF_TYPE_SOFTWARE && !BY_THEMSELVES.has(attr.config));
  if (mixed === undefined) return;
  throw new CounterpointError(
    'ERR_FORMAT_EVENT',
    `the kernel mixes up its records of ${mixed.name} if another format uses that event, too`,
    `Record it with ${formats[recorder]!.format.name} alone, or leave ${formats[recorder]!.format.name} out.`,
  );
}

function addFields(event: PlannedEvent, { bits, registers, precise }: FormatSampleFields): void {
  const { attr } = event;
  attr.sampleType |= BigInt(bits);
  if (registers !== undefined) attr.sampleRegsIntr = registers;
  if (precise === undefined) return;
  attr.flags.preciseIp = precise;
  // Less is not given for it.
  event.mostPrecise = false;
}

export function formatRequests(
  sampled: SampledEvents,
  formats: readonly ChosenFormat[],
  { ranges }: FormatEvents,
  target: FormatRequest['target'],
): FormatRequest[] {
  return formats.map(({ format, options }, index) => ({
    format,
    options,
    events: sampled.events.slice(...ranges[index]!),
    target,
  }));
}
