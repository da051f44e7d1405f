/** Hardware traces of a recording: which event makes one, and what that excludes. */
import { PERF_SAMPLE_CPU } from '@counterpoint/core/abi';
import { CounterpointError, optional } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { encodeRecords } from '@counterpoint/core/perfdata';
import type { PlannedEvent, SampledEvents, SamplingOptions } from '../../kernel/perf-events/index.ts';
import { canMonitorAll } from '../../kernel/probe/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import {
  type OpenTrace,
  type PlannedTrace,
  planTrace,
  traceSourceOf,
  withTraceFirst,
} from '../trace-pmus/index.ts';
import type { RecordOptions } from './options.ts';
import type { Scope } from './request.ts';

/** perf's ring beside a trace, for users who may lock little: the rest is for the trace. */
const SMALL_RING_BYTES = 256 * 1024;

/** The events in the order in which they are opened, after what cannot be is refused. */
export function tracedFirst(events: readonly ParsedEvent[], options: RecordOptions): ParsedEvent[] {
  const traced = events.find((event) => traceSourceOf(event) !== null);
  if (traced === undefined) return [...events];
  const unwanted: [isGiven: boolean, what: string, remedy: string][] = [
    [options.clockId !== undefined, 'with times of another clock: its times are of the TSC', 'Leave out -k.'],
    [(options.formats ?? []).length > 0, 'with sampling formats', 'Record them in a second run.'],
    [
      options.switchOutput !== undefined,
      'into several files: a trace is read from its beginning',
      'Leave out --switch-output.',
    ],
    [
      (options.compressionLevel ?? 0) > 0,
      'compressed: perf reads no trace from compressed records',
      'Leave out -z.',
    ],
  ];
  const found = unwanted.find(([isGiven]) => isGiven);
  if (found !== undefined)
    throw new CounterpointError('ERR_TRACE_EVENT', `${traced.name} cannot be recorded ${found[1]}`, found[2]);
  return withTraceFirst(events, options.period === undefined ? undefined : BigInt(options.period));
}

/** Whether one of them makes a trace. */
export function hasTrace(events: readonly ParsedEvent[]): boolean {
  return events.some((event) => traceSourceOf(event) !== null);
}

/** Beside a trace, who runs where is told by an event of its own. */
export function besideTrace(options: SamplingOptions): SamplingOptions {
  return { ...options, sidebandApart: true, hasTrace: true };
}

/** Completes the traced event. Null: there is none. */
export function planRecordedTrace(
  parsed: readonly ParsedEvent[],
  planned: readonly PlannedEvent[],
  options: RecordOptions,
  sys: Sys,
): PlannedTrace | null {
  const trace = planTrace(parsed, planned, {
    ...optional({ areaBytes: options.traceBytes }),
    snapshotBytes: snapshotBytes(options),
    sampleBytes: options.traceSampleBytes ?? 0,
    isPrivileged: canMonitorAll(sys.effectiveCapabilities()),
    pageBytes: sys.pageSizeBytes(),
    ...(options.cpus === undefined ? {} : { cpus: options.cpus }),
  });
  if (trace === null) return null;
  checkThreads(trace, options);
  const tracking = planned.find(({ isSideband }) => isSideband)!;
  if (trace.source.needsSwitches(trace.event)) tracking.attr.flags.contextSwitch = 1;
  // Which CPU's trace a switch belongs to.
  tracking.attr.sampleType |= BigInt(PERF_SAMPLE_CPU);
  return trace;
}

/** Whether events are of threads or of CPUs, as the trace needs it. */
function checkThreads({ source, event }: PlannedTrace, { perThread = false }: RecordOptions): void {
  if (source.scope === 'cpus' && perThread)
    throw new CounterpointError(
      'ERR_PER_THREAD',
      `perThread does not go with ${event.requestedName}`,
      'Leave it out: a trace is of a CPU, and its threads are told apart when it is read.',
    );
  if (source.scope === 'threads' && !perThread)
    throw new CounterpointError(
      'ERR_TRACE_EVENT',
      `the trace of ${event.requestedName} does not tell the threads of a CPU apart`,
      'Record each thread for itself: --per-thread (perThread: true), or -e intel_pt//u.',
    );
}

/** 0: no snapshots. */
function snapshotBytes({
  traceSnapshots,
  traceSnapshotBytes = Number.POSITIVE_INFINITY,
}: RecordOptions): number {
  return traceSnapshots === undefined ? 0 : traceSnapshotBytes;
}

/** Pages of rings beside a trace, where nobody says how many. */
export function ringPagesBeside(
  trace: PlannedTrace | null,
  options: RecordOptions,
  sys: Sys,
): number | undefined {
  if (trace === null || options.mmapPages !== undefined || canMonitorAll(sys.effectiveCapabilities()))
    return options.mmapPages;
  return SMALL_RING_BYTES / sys.pageSizeBytes();
}

/** AUXTRACE_INFO. It comes before the first piece of the trace. */
export function traceInfo(
  trace: PlannedTrace,
  sampled: SampledEvents,
  scope: Scope,
): Uint8Array<ArrayBuffer> {
  return encodeRecords([trace.source.info(trace.event, openTrace(trace, sampled, scope))], null);
}

/** What AUXTRACE records have as their reference. */
export function traceClock(trace: PlannedTrace, sampled: SampledEvents, scope: Scope): () => bigint {
  const open = openTrace(trace, sampled, scope);
  return () => trace.source.reference(open, process.hrtime.bigint());
}

function openTrace(
  { event, source, isSnapshot }: PlannedTrace,
  { rings }: SampledEvents,
  scope: Scope,
): OpenTrace {
  return {
    eventPage: rings[0]!.mapping.buffer,
    switches: source.needsSwitches(event) ? (scope.kind === 'cpus' ? 3 : 2) : 0,
    isSnapshot,
    filter: event.filter ?? '',
    cpus: rings.map(({ cpu }) => cpu).filter((cpu) => cpu >= 0),
  };
}
