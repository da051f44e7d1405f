import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import {
  addNote,
  DEAD_BREAKPOINTS,
  type Note,
  noteDeadBreakpoints,
  type PlannedEvent,
  planEvents,
  removeLeftovers,
  ringCount,
  type SampledEvents,
} from '../../kernel/perf-events/index.ts';
import { realSys, type Sys } from '../../kernel/sys/index.ts';
import { functionWay } from '../../stepping/softpmu/index.ts';
import { othersOnTracepoints, othersThatWatch } from '../formats/index.ts';
import { InliningWatch } from '../v8/index.ts';
import { withChosenStacks } from './auto-stacks.ts';
import { BuildIdCollector } from './build-ids.ts';
import { withEventLoops } from './event-loops.ts';
import { placeInCgroups, requireTracepoints } from './event-scope.ts';
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
import { framesFor } from './frames-for.ts';
import { launch } from './launch.ts';
import { openForScope } from './open-scope.ts';
import type { RecordOptions, RecordResult } from './options.ts';
import { OrderedOutput } from './ordered-output.ts';
import type { RecordingOutput } from './output.ts';
import { PerfMapKeeper } from './perf-maps.ts';
import { openTarget, processesOf, samplingOptions, scopeOf, withClock, withPerThread } from './request.ts';
import { RingRecording } from './ring-recording.ts';
import { noteRounding, ringBytesPerSecond, ringPages } from './ring-size.ts';
import { clockedForSoft, planSoftEvents, withSoftPeriods } from './soft-plan.ts';
import { SoftRecording } from './soft-recording.ts';
import { besideTrace, hasTrace, planRecordedTrace, ringPagesBeside, tracedFirst } from './trace-plan.ts';

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
  removeLeftovers(sys);
  const asked = wanted.eventLoops === true ? await withEventLoops(wanted) : wanted;
  const scope = scopeOf(asked);
  const options = await withChosenStacks(withPerThread(asked, scope), scope, notes);
  const formats = await chooseFormats(options.formats);
  const wantedEvents = tracedFirst(withSoftPeriods(await eventsFor(options, formats)), options);
  const isTraced = hasTrace(wantedEvents);
  const events = eventsOfFormats(wantedEvents, formats);
  const soft = clockedForSoft(wantedEvents, scope, clockedBy(formats, options));
  const clocked = isTraced ? soft : withClock(scope, soft);
  const launched = launch(options, notes);
  const held = launched?.held ?? null;
  const { clockId } = clocked;
  const nowNs = clockId === undefined ? null : () => sys.clockNs(clockId);
  const perfMaps = new PerfMapKeeper('/tmp', new InliningWatch(nowNs, options.nodeNames !== false));
  try {
    await perfMaps.prepare(processesOf(scope));
    const planTarget = openTarget(scope, options, held?.pid ?? null);
    const sampling = samplingOptions(scope, clocked, notes);
    const planned = planEvents(events.parsed, isTraced ? besideTrace(sampling) : sampling);
    const trace = planRecordedTrace(events.parsed, planned, options, sys);
    const softPlans = planSoftEvents(planned, options.softWay);
    placeInCgroups(planned, options);
    if (options.excludeRecorder === true) requireTracepoints(planned);
    const forFormats = formatTarget(scope, planTarget, options);
    prepareEvents(planned, formats, events, forFormats, notes, options.callchains);
    const frames = isTraced ? null : framesFor(scope, options, perfMaps, planned);
    const rate = ringBytesPerSecond(planned);
    const mmapPages = ringPagesBeside(trace, options, sys);
    const pages = ringPages(mmapPages, sys.pageSizeBytes(), ringCount(planTarget), rate);
    noteRounding(options.mmapPages, pages, sys.pageSizeBytes(), notes);
    const { sampled, target, attached } = openForScope({
      sys,
      scope,
      options,
      target: planTarget,
      planned,
      pages,
      notes,
      attach: (opened, whom) =>
        FormatRecording.open(
          sys,
          formatRequests(opened, formats, events, formatTarget(scope, whom, options)),
        ),
    });
    using formatRecording = attached;
    const buildIds = options.buildIds === false ? null : new BuildIdCollector();
    const commandNames = launched?.names ?? null;
    noteEarly(formats, formatRecording.heedBegin, planned, events, options, notes);
    noteOthers(sys, sampled, formatRecording.programIds, notes);
    noteDeadBreakpoints(sys, planned, notes);
    if (options.onFunction !== undefined && functionWay(sys) === 'step')
      addNote(notes, { kind: 'breakpoints', text: `all of the target is stepped: ${DEAD_BREAKPOINTS}` });
    // What programs have seen is read later than the rings, at any time.
    output.hasLateRecords = formatRecording.programIds.size > 0 || softPlans !== null;
    using stepped =
      softPlans === null
        ? null
        : await SoftRecording.attach({
            ...softPlans,
            events: sampled.events,
            tids: [...target.tasks],
            fromExec: scope.kind === 'command',
            onFunction: options.onFunction,
            stopAfter: options.stopAfter,
            way: options.softWay ?? 'step',
          });
    const parts = {
      sys,
      options: clocked,
      output: formats.length === 0 && stepped === null ? output : new OrderedOutput(output),
      formats: formatRecording,
      soft: stepped,
      trace,
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
