/** Events of the PMU in software among those of a recording: what steps the target makes their samples. */
import {
  HARDWARE_EVENTS,
  PERF_COUNT_SW_BPF_OUTPUT,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import {
  refuseOtherRights,
  requireArchitecture,
  type SoftEventSampling,
  type SoftKind,
  type SoftTracing,
  type SoftWay,
  softKindOf,
  softTracingOf,
} from '../../stepping/softpmu/index.ts';
import { traceSourceOf } from '../trace-pmus/index.ts';
import type { RecordOptions } from './options.ts';
import type { Scope } from './request.ts';

/** A soft event of a recording. */
export interface SoftPlan extends SoftEventSampling {
  /** Its place among the planned events. */
  index: number;
}

/** What the tracer does for the soft events of a recording. */
export interface SoftPlans {
  samples: readonly SoftPlan[];
  tracing: SoftTracing | null;
}

const CLOCK_MONOTONIC = 1;
/** What the records of a trace's event say of themselves. */
const TRACE_BITS =
  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
const SAMPLE_BITS =
  PERF_SAMPLE_IDENTIFIER |
  PERF_SAMPLE_IP |
  PERF_SAMPLE_TID |
  PERF_SAMPLE_TIME |
  PERF_SAMPLE_CPU |
  PERF_SAMPLE_PERIOD;

/** What readers take it for: perf prints branches of period 1 as those of Intel BTS. */
const WRITTEN_AS: Partial<Record<SoftKind, string>> = {
  instructions: 'instructions',
  branches: 'branches',
  taken: 'branches',
};

function isSoft({ attr }: { attr: { type: number; config: bigint } }): boolean {
  return softKindOf(attr) !== null || softTracingOf(attr) !== null;
}

/** Each branch is a sample, whatever the period of the other events; a trace has none. */
export function withSoftPeriods(events: readonly ParsedEvent[]): ParsedEvent[] {
  return events.map((event) => {
    if (softKindOf(event.attr) !== 'taken' && softTracingOf(event.attr) === null) return event;
    const flags = { ...event.attr.flags, freq: 0 as const };
    return { ...event, attr: { ...event.attr, flags, samplePeriodOrFreq: 1n }, periodGiven: true };
  });
}

/** What a recording with soft events is asked for, with the clock that the tracer reads. */
export function clockedForSoft(
  events: readonly ParsedEvent[],
  scope: Scope,
  options: RecordOptions,
): RecordOptions {
  const event = events.find(isSoft);
  if (event === undefined) {
    refuseSoftOptions(options);
    return options;
  }
  refuse(event, scope, options);
  const other = events.find((one) => !isSoft(one));
  if (other !== undefined && options.softWay === 'fast') refuseBeside(other.name);
  const traces = events.filter(({ attr }) => softTracingOf(attr) !== null);
  if (traces.length > 1) refuseSecond(traces[1]!.name);
  if (traces.length > 0 && options.switchOutput !== undefined) refuseSwitch(traces[0]!.name);
  requireArchitecture();
  if (scope.kind === 'command') refuseOtherRights(options.command![0]!);
  return { ...options, clockId: CLOCK_MONOTONIC };
}

function refuseSoftOptions({ onFunction, stopAfter, softWay }: RecordOptions): void {
  const given = Object.entries({ onFunction, stopAfter, softWay }).find(([, value]) => value !== undefined);
  if (given === undefined) return;
  throw new CounterpointError(
    'ERR_SOFT_EVENT',
    `${given[0]} is for soft events, and there is none`,
    'Add -e soft/instructions/, -e soft_bts// or -e soft_pt//.',
  );
}

/** For what opens events without stepping anything, and reads no traces. */
export function refuseSoftEvents(events: readonly ParsedEvent[]): void {
  const traced = events.find((one) => traceSourceOf(one) !== null);
  if (traced !== undefined)
    throw new CounterpointError(
      'ERR_TRACE_EVENT',
      `${traced.name} makes a trace, which only record writes down`,
      'Record it, with -S where only the newest is wanted.',
    );
  const event = events.find(isSoft);
  if (event === undefined) return;
  throw new CounterpointError(
    'ERR_SOFT_EVENT',
    `${event.name} is made by stepping, which only stat and record do`,
    'Record it, and look at the recording.',
  );
}

function refuse({ name }: ParsedEvent, scope: Scope, options: RecordOptions): void {
  const unwanted: [isGiven: boolean, what: string, remedy: string][] = [
    [scope.kind === 'cpus', 'on whole CPUs', 'Give a command, a process (-p PID) or a thread (-t TID).'],
    [
      options.clockId !== undefined && options.clockId !== CLOCK_MONOTONIC,
      `with times on clock ${options.clockId}: its times are on the clock monotonic`,
      'Leave out -k.',
    ],
    [
      options.inherit === false,
      'without children: all that the target starts is stepped, too',
      'Leave out -i.',
    ],
    [
      (options.delayMs ?? 0) > 0 || options.startDisabled === true || options.onControl !== undefined,
      'with a beginning that comes later: stepping begins with the target',
      'Leave out -D and --control.',
    ],
    [
      options.softWay === 'fast' && (options.onFunction ?? options.stopAfter) !== undefined,
      `${options.onFunction === undefined ? 'up to a number of instructions' : 'in one function'} with translated code`,
      'Leave out --soft-way fast.',
    ],
    [(options.formats ?? []).length > 0, 'with sampling formats', 'Record them in a second run.'],
  ];
  const found = unwanted.find(([isGiven]) => isGiven);
  if (found !== undefined)
    throw new CounterpointError('ERR_SOFT_EVENT', `${name} cannot be recorded ${found[1]}`, found[2]);
}

/** The kernel would take its samples in the translated copy, at addresses that no program has. */
function refuseBeside(name: string): never {
  throw new CounterpointError(
    'ERR_SOFT_EVENT',
    `${name} would have addresses of the translated code`,
    'Record it in a second run, or leave out --soft-way fast.',
  );
}

function refuseSecond(name: string): never {
  throw new CounterpointError(
    'ERR_SOFT_EVENT',
    `${name} is the second trace: each thread is traced once`,
    'Give one event of soft_pt.',
  );
}

function refuseSwitch(name: string): never {
  throw new CounterpointError(
    'ERR_SOFT_EVENT',
    `${name} cannot go on in another file: a trace is read from its beginning`,
    'Leave out --switch-output.',
  );
}

/**
 * Makes them events that no one but the tracer writes to, and gives what the tracer is to do. The kernel has
 * an event for each that counts nothing: so it has a number, and is in the file as all others are.
 */
export function planSoftEvents(planned: readonly PlannedEvent[], way: SoftWay = 'step'): SoftPlans | null {
  let tracing: SoftTracing | null = null;
  const samples = planned.flatMap((event, index) => {
    if (!isSoft(event)) return [];
    if (event.leader !== null || planned.some(({ leader }) => leader === index))
      throw new CounterpointError(
        'ERR_SOFT_EVENT',
        `${event.name} cannot be in a group: the kernel's counters do not count it`,
        'Write it outside the braces.',
      );
    const { attr } = event;
    const traced = softTracingOf(attr);
    if (traced !== null) {
      tracing = traced;
      event.writtenAs = { type: attr.type, config: attr.config };
      giveToTracer(event, TRACE_BITS);
      return [];
    }
    const kind = softKindOf(attr)!;
    const hasCallers = (attr.sampleType & BigInt(PERF_SAMPLE_CALLCHAIN)) !== 0n;
    if (hasCallers && way === 'fast')
      throw new CounterpointError(
        'ERR_SOFT_EVENT',
        `${event.name} has no call chains from translated code`,
        'Leave out -g, or --soft-way fast.',
      );
    const isSampled = attr.flags.freq === 0 && attr.samplePeriodOrFreq > 0n;
    if (!isSampled || attr.samplePeriodOrFreq > BigInt(Number.MAX_SAFE_INTEGER))
      throw new CounterpointError(
        'ERR_SOFT_EVENT',
        `${event.name} is sampled by a number of events, not so often a second`,
        `Give the number: -c 10000, or in the event: soft/instructions,period=10000/.`,
      );
    const writtenAs = WRITTEN_AS[kind];
    if (writtenAs !== undefined)
      event.writtenAs = { type: PERF_TYPE_HARDWARE, config: BigInt(HARDWARE_EVENTS.indexOf(writtenAs)) };
    const isBranch = kind !== 'instructions';
    const extra = (hasCallers ? PERF_SAMPLE_CALLCHAIN : 0) | (isBranch ? PERF_SAMPLE_ADDR : 0);
    giveToTracer(event, SAMPLE_BITS | extra);
    return [{ index, kind, period: Number(attr.samplePeriodOrFreq), hasCallers }];
  });
  return samples.length === 0 && tracing === null ? null : { samples, tracing };
}

/** Its kernel's event counts nothing, and what is in the file is the tracer's. */
function giveToTracer(event: PlannedEvent, sampleBits: number): void {
  const { attr } = event;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = BigInt(PERF_COUNT_SW_BPF_OUTPUT);
  attr.sampleType = BigInt(sampleBits);
  Object.assign(attr, { sampleRegsUser: 0n, sampleStackUser: 0, sampleRegsIntr: 0n, branchSampleType: 0n });
  Object.assign(attr.flags, { excludeKernel: 1, excludeHv: 1, preciseIp: 0, excludeCallchainUser: 0 });
  event.mostPrecise = false;
}
