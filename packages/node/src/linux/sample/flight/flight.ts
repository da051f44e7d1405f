import { CounterpointError } from '@counterpoint/core/base';
import { BodyWriter, encodeRecord, type PerfRecord, SampleLayout } from '@counterpoint/core/records';
import {
  type Note,
  type OpenTarget,
  type PlannedEvent,
  planEvents,
  removeLeftovers,
  type SampledEvents,
} from '../../kernel/perf-events/index.ts';
import { realSys, requireLinux } from '../../kernel/sys/index.ts';
import { planOf } from '../formats/index.ts';
import {
  type ChosenFormat,
  chooseFormats,
  clockedBy,
  eventsFor,
  eventsOfFormats,
  FormatRecording,
  formatRequests,
  formatTarget,
  framesFor,
  type Launched,
  launch,
  MapWatch,
  NamelessCode,
  openForScope,
  openTarget,
  PerfMapKeeper,
  prepareEvents,
  processesOf,
  processWithMadeCode,
  recordingFeatures,
  refuseSoftEvents,
  ringBytesPerSecond,
  ringPages,
  type SynthesisTarget,
  samplingOptions,
  scopeOf,
  synthesizeMachine,
  synthesizeWatched,
} from '../record/index.ts';
import { InliningWatch } from '../v8/index.ts';
import { DumpFiles } from './dump-files.ts';
import { FlightLosses } from './flight-losses.ts';
import { FormatHistory, formatForHistory } from './format-history.ts';
import { FrameHistory } from './frame-history.ts';
import { Histories } from './histories.ts';
import { checkFlightOptions } from './option-table.ts';
import type { FlightOptions } from './options.ts';
import { removeLeftParts } from './part-files.ts';
import { FlightRecorder } from './recorder.ts';
import { SidebandLog } from './sideband-log.ts';
import { parseTrigger } from './triggers/index.ts';

const DEFAULT_KEEP_MS = 30_000;
const DEFAULT_MEMORY_BYTES = 64 * 2 ** 20;
const DEFAULT_MIN_INTERVAL_MS = 10_000;
const DEFAULT_MAX_FILES = 16;
const DEFAULT_MAX_FILE_BYTES = 2 ** 30;
/** Enough for days: a block of half a second is some 50 samples. */
const DEFAULT_FREQUENCY_HZ = 99;
/** Of linux/time.h. Every program can read it, so that times of triggers and of records are alike. */
const CLOCK_MONOTONIC = 1;
/** Of each ring where nobody knows what will come. */
const FIRST_PAGES = 256;
/** Rings are for a quarter of a second, as a rule. While a file is written nobody reads those with stacks. */
const RINGS_A_SECOND = 4;
/** Estimates of rates are of one CPU that is always busy; chains may be longer. */
const SLACK = 1.5;

/**
 * Watch a command, processes, threads or CPUs, and keep what happened last in memory: nothing is written
 * until `dump()` asks for it.
 *
 * Rejects where nothing can be watched. End it with `stop()`, or by the signal.
 */
export async function flight(options: FlightOptions): Promise<FlightRecorder> {
  requireLinux('flight()');
  checkFlightOptions(options);
  const { keepMs = DEFAULT_KEEP_MS, clockId = CLOCK_MONOTONIC, memoryBytes = DEFAULT_MEMORY_BYTES } = options;
  const sys = options.sys ?? realSys;
  const notes: Note[] = [];
  removeLeftovers(sys);
  const request = { callGraph: true, clockId, ...withRate(options) };
  const scope = scopeOf(request);
  const triggers = await Promise.all((options.on ?? []).map(parseTrigger));
  const formats = await chooseFormats(options.formats, formatForHistory);
  clockedBy(formats, request);
  const wanted = await eventsFor(options, formats);
  refuseSoftEvents(wanted);
  const events = eventsOfFormats(wanted, formats);
  const files = new DumpFiles({
    directory: options.directory ?? '.',
    prefix: options.prefix ?? 'flight',
    maxFiles: options.maxFiles ?? DEFAULT_MAX_FILES,
    maxFileBytes: options.maxFileBytes ?? DEFAULT_MAX_FILE_BYTES,
    extension: options.fixedSize === true ? 'history' : 'data',
  });
  removeLeftParts(options.directory ?? '.', options.prefix ?? 'flight', notes);
  const launched = launch(request, notes);
  const perfMaps = new PerfMapKeeper(
    '/tmp',
    new InliningWatch(() => sys.clockNs(clockId), options.nodeNames !== false),
  );
  let sampled: SampledEvents | null = null;
  let histories: Histories | null = null;
  let formatRecording: FormatRecording | null = null;
  let started: FlightRecorder | null = null;
  try {
    await perfMaps.prepare(processesOf(scope));
    const planned = planEvents(events.parsed, { ...samplingOptions(scope, request, notes), history: true });
    const planTarget = openTarget(scope, request, launched?.held.pid ?? null);
    const forFormats = formatTarget(scope, planTarget, request);
    refuseSuspension(formats, forFormats, planned);
    prepareEvents(planned, formats, events, forFormats, notes, options.callchains);
    const frames = framesFor(scope, request, perfMaps, planned);
    const framed = frames === null ? [] : planned.filter((event) => FrameHistory.has(event));
    for (const { attr } of framed) attr.flags.writeBackward = 0;
    const framedBytes = ringBytesPerSecond(framed.map((event) => ({ ...event, hasNoRing: false })));
    const pages = ringPages(
      undefined,
      sys.pageSizeBytes(),
      planTarget.cpus.length,
      RINGS_A_SECOND * Math.min(framedBytes, powerOfTwoBelow(memoryBytes / 2 / planTarget.cpus.length)),
    );
    const requestsFor = (whose: SampledEvents, whom: OpenTarget) =>
      formatRequests(whose, formats, events, formatTarget(scope, whom, request));
    const opened = openForScope({
      sys,
      scope,
      options: request,
      target: planTarget,
      planned,
      pages,
      notes,
      attach: (whose, whom) => FormatRecording.open(sys, requestsFor(whose, whom), { keepsLines: false }),
    });
    sampled = opened.sampled;
    formatRecording = opened.attached;
    const { cpus } = opened.target;
    const requests = requestsFor(sampled, opened.target);
    const counted = requests.filter(({ format }) => format.onOverflow !== undefined);
    const countedEvents = counted.flatMap((one) => one.events);
    // The records of the others go into rings.
    const withRecords = planned.filter(
      ({ isSideband }, index) =>
        !isSideband &&
        !countedEvents.includes(sampled!.events[index]!) &&
        !(frames !== null && FrameHistory.has(sampled!.events[index]!)),
    );
    histories = Histories.open(sys, {
      cpus,
      clockId,
      pages: historyPages(withRecords, memoryBytes, keepMs, cpus.length, sys.pageSizeBytes()),
    });
    histories.take(sampled);
    const frameHistory =
      frames === null
        ? null
        : new FrameHistory({
            frames,
            events: sampled.events,
            nowNs: () => Number(sys.clockNs(clockId)),
            memoryBytes: memoryBytes / 2,
          });
    const formatHistory =
      formats.length === 0
        ? null
        : new FormatHistory({
            sampled,
            formats: formatRecording,
            events: countedEvents,
            nowNs: () => Number(sys.clockNs(clockId)),
            memoryBytes: memoryBytes / 2,
          });
    const maps = new MapWatch(null, perfMaps, launched?.names ?? null);
    const told = sampled.events.find(({ isSideband }) => isSideband)!;
    const sideband = new SidebandLog(told, maps, memoryBytes);
    const start = synthesize(
      sampled,
      { scope, ...opened.target, command: commandOf(launched) },
      sideband,
      maps,
      perfMaps,
      frames?.announce() ?? [],
      notes,
    );
    const features = recordingFeatures(sys, sampled.events, request);
    const recorder = new FlightRecorder({
      sys,
      options,
      sampled,
      histories,
      formatHistory,
      frameHistory,
      sideband,
      source: {
        sampled,
        histories,
        formatHistory,
        frameHistory,
        sideband,
        start,
        features,
        perfMaps,
        notes,
        withBuildIds: options.buildIds !== false,
        losses: new FlightLosses(sampled, Number(sys.clockNs(clockId))),
        isFixedSize: options.fixedSize === true,
      },
      files,
      launched,
      notes,
      keepMs,
      memoryBytes,
      clockId,
      triggers,
      watched: {
        sys,
        scope,
        target: opened.target,
        pids: launched === null ? (options.pids ?? []) : [launched.held.pid],
        inherit: options.inherit ?? true,
      },
      minIntervalMs: options.minIntervalMs ?? DEFAULT_MIN_INTERVAL_MS,
      close: () => perfMaps[Symbol.dispose](),
    });
    started = recorder;
    await recorder.start();
    return recorder;
  } catch (error) {
    launched?.held.kill('SIGTERM');
    await started?.stop();
    launched?.held[Symbol.dispose]();
    formatRecording?.close();
    sampled?.close();
    histories?.[Symbol.dispose]();
    perfMaps[Symbol.dispose]();
    throw error;
  }
}

function commandOf(launched: Launched | null): SynthesisTarget['command'] {
  return launched === null ? null : { pid: launched.held.pid, name: launched.held.heldName };
}

/** A rate that can be left running, where none is given. */
function withRate({ frequency, period, ...rest }: FlightOptions): FlightOptions {
  if (period !== undefined) return { ...rest, period };
  return { ...rest, frequency: frequency ?? DEFAULT_FREQUENCY_HZ };
}

/** Pages of each ring: what lasts as long as is wanted at the rates that are known, within the memory. */
function historyPages(
  planned: readonly PlannedEvent[],
  memoryBytes: number,
  keepMs: number,
  cpuCount: number,
  pageSizeBytes: number,
): number {
  const most = powerOfTwoBelow(memoryBytes / cpuCount / pageSizeBytes);
  const bytesPerSecond = ringBytesPerSecond(planned.map((event) => ({ ...event, hasNoRing: false })));
  const isRateKnown = planned.every(({ attr }) => isKnownRate(attr));
  // The rate is measured, and the rings get larger.
  if (!isRateKnown) return Math.min(most, FIRST_PAGES);
  const wanted = (bytesPerSecond * SLACK * keepMs) / 1000 / pageSizeBytes;
  return Math.min(most, 2 ** Math.ceil(Math.log2(Math.max(1, wanted))));
}

function powerOfTwoBelow(value: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, value)));
}

/** A suspended counter would stand still until the history is asked for. */
function refuseSuspension(
  formats: readonly ChosenFormat[],
  target: ReturnType<typeof formatTarget>,
  events: readonly PlannedEvent[],
): void {
  for (const { format, options } of formats)
    if (planOf(format, options, { ...target, events }).suspend === true)
      throw new CounterpointError(
        'ERR_FLIGHT_FORMAT',
        `the format ${format.name} suspends its counters, so a flight recorder cannot keep a history of it`,
        'Use it with record.',
      );
}

/** Events at a frequency; others come as often as they happen. */
function isKnownRate({ flags }: PlannedEvent['attr']): boolean {
  return flags.freq !== 0;
}

/** The records that stand before each history. Who runs already is known from now on. */
function synthesize(
  sampled: SampledEvents,
  target: SynthesisTarget,
  { state }: SidebandLog,
  maps: MapWatch,
  perfMaps: PerfMapKeeper,
  mappings: readonly PerfRecord[],
  notes: Note[],
): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter(true, 4096);
  const layout = new SampleLayout(sampled.events[0]!.attr);
  synthesizeMachine(sampled, target, (record) => encodeRecord(writer, record, layout), notes);
  for (const mapping of mappings) encodeRecord(writer, mapping, layout);
  const makers = new Set<number>();
  synthesizeWatched(target, (record: PerfRecord) => {
    state.apply(record);
    maps.add(record);
    const maker = processWithMadeCode(record);
    if (maker !== null) makers.add(maker);
  });
  new NamelessCode((pid) => perfMaps.whyNameless(pid)).noteAll(makers, notes);
  return writer.take();
}
