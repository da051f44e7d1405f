import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { InliningWatch } from '../javascript/index.ts';
import { type Note, type PlannedEvent, planEvents, type SampledEvents } from '../perf-events/index.ts';
import { type FormatRequest, othersOnTracepoints, othersThatWatch } from '../sampling/index.ts';
import { realSys, type Sys } from '../sys/index.ts';
import { BuildIdCollector } from './build-ids.ts';
import { withEventLoops } from './event-loops.ts';
import {
  type ChosenFormat,
  chooseFormats,
  clockedBy,
  eventsFor,
  eventsOfFormats,
  type FormatEvents,
  formatRequests,
  formatTarget,
  prepareEvents,
} from './format-events.ts';
import { FormatRecording } from './format-recording.ts';
import { JavascriptFrames } from './javascript-frames.ts';
import { launch } from './launch.ts';
import { openForScope } from './open-scope.ts';
import type { RecordOptions, RecordResult } from './options.ts';
import { OrderedOutput } from './ordered-output.ts';
import type { RecordingOutput } from './output.ts';
import { PerfMapKeeper } from './perf-maps.ts';
import {
  hasFrameSamples,
  openTarget,
  processesOf,
  type Scope,
  samplingOptions,
  scopeOf,
  withClock,
} from './request.ts';
import { RingRecording } from './ring-recording.ts';
import { ringBytesPerSecond, ringPages } from './ring-size.ts';

/**
 * From the request to the finished output. Everything that can be refused is refused before the command runs
 * and before an earlier recording is moved away.
 */
export async function runRecorder(
  wanted: RecordOptions,
  output: RecordingOutput,
  path: string,
): Promise<RecordResult> {
  const sys = wanted.sys ?? realSys;
  const notes: Note[] = [];
  wanted.signal?.throwIfAborted();
  const options = wanted.eventLoops === true ? await withEventLoops(wanted) : wanted;
  const scope = scopeOf(options);
  const formats = await chooseFormats(options.formats);
  const events = eventsOfFormats(await eventsFor(options, formats), formats);
  const clocked = withClock(scope, clockedBy(formats, options));
  const launched = launch(options, notes);
  const held = launched?.held ?? null;
  const { clockId } = clocked;
  const nowNs = clockId === undefined ? null : () => sys.clockNs(clockId);
  const perfMaps = new PerfMapKeeper('/tmp', new InliningWatch(nowNs, options.nodeNames !== false));
  try {
    await perfMaps.prepare(processesOf(scope));
    const planTarget = openTarget(scope, options, held?.pid ?? null);
    const planned = planEvents(events.parsed, samplingOptions(scope, clocked, notes));
    const forFormats = formatTarget(scope, planTarget, options);
    prepareEvents(planned, formats, events, forFormats, notes, options.callchains);
    const frames = framesFor(scope, options, perfMaps, planned);
    const rate = ringBytesPerSecond(planned);
    const pages = ringPages(options.mmapPages, sys.pageSizeBytes(), planTarget.cpus.length, rate);
    const opening = { sys, scope, options, target: planTarget, planned, pages, notes };
    const { sampled, target } = openForScope(opening);
    const buildIds = options.buildIds === false ? null : new BuildIdCollector();
    const commandNames = launched?.names ?? null;
    using formatRecording = openFormats(
      sys,
      sampled,
      formatRequests(sampled, formats, events, formatTarget(scope, target, options)),
    );
    noteEarly(formats, formatRecording.heedBegin, planned, events, options, notes);
    noteOthers(sys, sampled, formatRecording.programIds, notes);
    // What programs have seen is read later than the rings, at any time.
    output.hasLateRecords = formatRecording.programIds.size > 0;
    const parts = {
      sys,
      options: clocked,
      output: formats.length === 0 ? output : new OrderedOutput(output),
      formats: formatRecording,
      path,
      scope,
      target,
      held,
      sampled,
      notes,
      buildIds,
      perfMaps,
      frames,
      commandNames,
    };
    try {
      return await new RingRecording(parts).run();
    } finally {
      sampled.close();
    }
  } catch (error) {
    // Nobody else knows of it any more.
    held?.kill('SIGTERM');
    throw error;
  } finally {
    held?.[Symbol.dispose]();
    perfMaps[Symbol.dispose]();
    output.close();
  }
}

/** Null: nobody is watched whose interpreted functions are only in the frames. */
function framesFor(
  scope: Scope,
  options: RecordOptions,
  perfMaps: PerfMapKeeper,
  planned: readonly PlannedEvent[],
): JavascriptFrames | null {
  if (!hasFrameSamples(options)) return null;
  const functions = perfMaps.framesOf(processesOf(scope));
  if (functions.size === 0) return null;
  return JavascriptFrames.widen(planned) ? new JavascriptFrames(functions) : null;
}

/** Where a format cannot be had, the events are closed, too. */
function openFormats(sys: Sys, sampled: SampledEvents, requests: readonly FormatRequest[]): FormatRecording {
  try {
    return FormatRecording.open(sys, requests);
  } catch (error) {
    sampled.close();
    throw error;
  }
}

/**
 * Other users of BPF, who may take hits away or take time. Those of a tracepoint
 * matter to every recording of it.
 */
function noteOthers(sys: Sys, sampled: SampledEvents, ownIds: ReadonlySet<number>, notes: Note[]): void {
  const onTracepoints = othersOnTracepoints(sys, sampled.events, ownIds);
  const lines = onTracepoints.length > 0 || ownIds.size === 0 ? onTracepoints : othersThatWatch(sys, ownIds);
  for (const text of lines) notes.push({ kind: 'other-programs', text });
}

/**
 * Programs on tracepoints and probes run from the moment in which they are there; only events are disabled
 * until a delay is over. A format's own may heed it.
 */
function noteEarly(
  formats: readonly ChosenFormat[],
  heedBegin: readonly boolean[],
  planned: readonly PlannedEvent[],
  { ranges }: FormatEvents,
  { delayMs = 0 }: Pick<RecordOptions, 'delayMs'>,
  notes: Note[],
): void {
  if (delayMs === 0) return;
  formats.forEach(({ format }, index) => {
    const early = planned
      .slice(...ranges[index]!)
      .find(({ attr, probe = null }) => attr.type === PERF_TYPE_TRACEPOINT || probe !== null);
    const isEarly =
      format.ownEvents === undefined
        ? format.onOverflow !== undefined && early !== undefined
        : !heedBegin[index]!;
    if (!isEarly) return;
    const what = early === undefined ? format.name : `${format.name} on ${early.name}`;
    notes.push({
      kind: 'format-early',
      text: `${what} begins at once, because a delay holds only for events`,
    });
  });
}
