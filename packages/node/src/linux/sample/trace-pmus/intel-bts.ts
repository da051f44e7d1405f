import { PERF_SAMPLE_IDENTIFIER } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { planArea } from './plan-area.ts';
import { refuseSamplesOfTrace } from './refusals.ts';
import { AUXTRACE_INTEL_BTS, traceInfoRecord } from './trace-info.ts';
import type { TraceRequest, TraceSource } from './trace-source.ts';
import { tscAt, tscClock } from './tsc-clock.ts';

const KIB = 1024;
const LIMITS = { traced: 'Intel BTS', leastBytes: 8 * KIB, leastOverwrittenBytes: 4 * KIB };
/** A branch: from, to, and flags, a word each. */
const ENTRY_BYTES = 24;

/**
 * Branch Trace Store of Intel, asked for as `perf record` does (tools/perf/arch/x86/util/intel-bts.c). An
 * entry names no thread and has no time: an area has one thread's.
 */
export function intelBts(): TraceSource {
  return {
    scope: 'threads',
    isOf: (pmu) => pmu === 'intel_bts',
    plan,
    needsSwitches: () => false,
    info: ({ attr }, { eventPage, isSnapshot }) => {
      const clock = tscClock(eventPage);
      // PMU type, time_shift, time_mult, time_zero, has time_zero, snapshot (tools/perf/util/intel-bts.h).
      return traceInfoRecord(AUXTRACE_INTEL_BTS, [
        BigInt(attr.type),
        BigInt(clock?.timeShift ?? 0),
        BigInt(clock?.timeMult ?? 0),
        clock?.timeZero ?? 0n,
        clock === null ? 0n : 1n,
        isSnapshot ? 1n : 0n,
      ]);
    },
    reference: ({ eventPage }, nowNs) => tscAt(eventPage, nowNs),
  };
}

function plan(event: PlannedEvent, request: TraceRequest): void {
  refuseSamplesOfTrace(event.requestedName, request);
  // Where the newest entry of an area that is written over ends, only its driver knows.
  if (request.snapshotBytes > 0)
    throw new CounterpointError(
      'ERR_TRACE_EVENT',
      `snapshots of ${event.requestedName} are not supported`,
      'Leave out -S: record the full trace, with --max-size where it must not grow.',
    );
  const { attr } = event;
  attr.flags.freq = 0;
  attr.samplePeriodOrFreq = 1n;
  attr.sampleType |= BigInt(PERF_SAMPLE_IDENTIFIER);
  event.aux = { ...planArea(request, LIMITS), entryBytes: ENTRY_BYTES };
}
