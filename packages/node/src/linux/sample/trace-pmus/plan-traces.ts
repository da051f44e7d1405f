import { PERF_SAMPLE_AUX } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { armSpe } from './arm-spe.ts';
import { csEtm } from './cs-etm.ts';
import { intelBts } from './intel-bts.ts';
import { intelPt } from './intel-pt.ts';
import type { TraceRequest, TraceSource } from './trace-source.ts';

/** All sources that there are. */
const SOURCES: readonly TraceSource[] = [intelPt(), intelBts(), armSpe(), csEtm()];

/** The source of an event's trace; null: it makes none. */
export function traceSourceOf({ pmu }: Pick<ParsedEvent, 'pmu'>): TraceSource | null {
  return pmu === undefined ? null : (SOURCES.find((source) => source.isOf(pmu)) ?? null);
}

/**
 * The events with the traced one, and its group, before the others: its rings get the AUX areas. `period`: of
 * events that say nothing of theirs; only a PMU that samples has one.
 */
export function withTraceFirst(events: readonly ParsedEvent[], period?: bigint): ParsedEvent[] {
  const [traced, second] = events.filter((event) => traceSourceOf(event) !== null);
  if (traced === undefined) return [...events];
  if (second !== undefined)
    throw new CounterpointError(
      'ERR_TRACE_EVENT',
      `${second.name} is the second trace: the kernel makes one of a CPU`,
      `Give one event of ${traced.pmu}.`,
    );
  const isFirst = (event: ParsedEvent) =>
    event === traced || (traced.group !== null && event.group === traced.group);
  const flags = { ...traced.attr.flags, freq: 0 };
  const attr = { ...traced.attr, flags, samplePeriodOrFreq: periodOf(traced, period) };
  return [...events.filter(isFirst), ...events.filter((event) => !isFirst(event))].map((event) =>
    event === traced ? { ...traced, attr, periodGiven: true } : event,
  );
}

/** A trace has no rate, unless it is one of samples. */
function periodOf(traced: ParsedEvent, period: bigint | undefined): bigint {
  const usual = traceSourceOf(traced)!.usualPeriod?.(traced.pmu!);
  if (usual === undefined) return 1n;
  const { flags, samplePeriodOrFreq } = traced.attr;
  if (!traced.periodGiven) return period ?? usual;
  if (flags.freq === 0) return samplePeriodOrFreq;
  throw new CounterpointError(
    'ERR_TRACE_EVENT',
    `${traced.name} has an interval between samples, and no frequency`,
    'Give period=N in place of freq=N.',
  );
}

/** The trace of a recording. */
export interface PlannedTrace {
  source: TraceSource;
  event: PlannedEvent;
  isSnapshot: boolean;
}

/** Completes the attr of the traced event, which was planned like the others; null: there is none. */
export function planTrace(
  parsed: readonly ParsedEvent[],
  planned: readonly PlannedEvent[],
  request: TraceRequest,
): PlannedTrace | null {
  const at = parsed.findIndex((event) => traceSourceOf(event) !== null);
  if (at < 0) {
    refuseWithoutTrace(request);
    return null;
  }
  const source = traceSourceOf(parsed[at]!)!;
  const event = planned[at]!;
  const sampleBytes = planOthers(parsed, planned, at, request);
  refuseDriverTerms(parsed, source.hasDriverTerms === true ? at : -1);
  source.plan(event, { ...request, sampleBytes }, parsed[at]!);
  return { source, event, isSnapshot: request.snapshotBytes > 0 };
}

/** `allowed`: the event that may have some. */
function refuseDriverTerms(parsed: readonly ParsedEvent[], allowed: number): void {
  const found = parsed.find(({ options }, index) => options.driverConfig !== undefined && index !== allowed);
  if (found === undefined) return;
  throw new CounterpointError(
    'ERR_EVENT_OPTION',
    `record does not support driver terms (@), which ${found.name} requests`,
    'Leave it out of the event.',
  );
}

const ACTIONS: Readonly<Record<string, number>> = { 'start-paused': 1, pause: 2, resume: 4 };

/**
 * What events have to do with the trace: samples with a part of it (`aux-sample-size=`), those that go into
 * it (`aux-output`), and those at which it pauses (`aux-action=`). Returns the size of the largest part.
 */
function planOthers(
  parsed: readonly ParsedEvent[],
  planned: readonly PlannedEvent[],
  traced: number,
  { sampleBytes }: TraceRequest,
): number {
  let largest = 0;
  parsed.forEach(({ name, options }, index) => {
    const { attr, leader } = planned[index]!;
    const isMember = leader === traced;
    const size = options.auxSampleSizeBytes ?? (isMember ? sampleBytes : 0);
    const isAbout = options.auxOutput === true || (options.auxAction ?? 'start-paused') !== 'start-paused';
    if (index !== traced && !isMember && (size > 0 || isAbout)) refuseOutside(name, parsed[traced]!.name);
    if (index !== traced && size > 0) {
      attr.sampleType |= BigInt(PERF_SAMPLE_AUX);
      attr.auxSampleSize = size;
      largest = Math.max(largest, size);
    }
    if (options.auxOutput === true) attr.flags.auxOutput = 1;
    if (options.auxAction !== undefined) attr.auxAction = ACTIONS[options.auxAction] ?? 0;
  });
  if (sampleBytes > 0 && largest === 0) refuseOutside(null, parsed[traced]!.name);
  return largest;
}

function refuseOutside(name: string | null, trace: string): never {
  throw new CounterpointError(
    'ERR_TRACE_EVENT',
    name === null
      ? `no event is in the group of ${trace}, whose samples could have a part of the trace`
      : `${name} is not in the group of ${trace}: only events in it may have a part of the trace or change it`,
    `Write a group that the trace leads: -e '{${trace},EVENT}'`,
  );
}

function refuseWithoutTrace({ snapshotBytes, sampleBytes }: TraceRequest): void {
  if (snapshotBytes === 0 && sampleBytes === 0) return;
  throw new CounterpointError(
    'ERR_TRACE_EVENT',
    `${snapshotBytes > 0 ? 'snapshots' : 'samples'} of a trace are wanted, and no event makes a trace`,
    'Add an event of a PMU with a trace, such as -e intel_pt//u.',
  );
}
