import { PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { encodePtInfo } from '@counterpoint/trace/intel-pt';
import { PtFacts } from '../../kernel/local-pmus/index.ts';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { planArea } from './plan-area.ts';
import type { TraceRequest, TraceSource } from './trace-source.ts';
import { tscAt, tscClock } from './tsc-clock.ts';

const KIB = 1024;
/** The driver's double buffering needs two pages, snapshots need one. */
const LIMITS = { traced: 'Intel PT', leastBytes: 8 * KIB, leastOverwrittenBytes: 4 * KIB };

/** Terms with several values, the capability that lists them, and the one without which there is only 0. */
const LISTED_TERMS = [
  ['cyc_thresh', 'cycle_thresholds', 'psb_cyc'],
  ['mtc_period', 'mtc_periods', 'mtc'],
  ['psb_period', 'psb_periods', 'psb_cyc'],
] as const;

/**
 * Intel PT, asked for as `perf record` does (tools/perf/arch/x86/util/intel-pt.c of perf 6.1).
 *
 * `facts`: of this machine.
 */
export function intelPt(facts = new PtFacts()): TraceSource {
  return {
    scope: 'cpus',
    isOf: (pmu) => pmu === 'intel_pt',
    plan: (event, request) => plan(facts, event, request),
    needsSwitches: ({ attr }) => (attr.config & facts.bits('tsc')) !== 0n,
    info: ({ attr }, open) =>
      encodePtInfo({
        pmuType: attr.type,
        clock: tscClock(open.eventPage),
        tscBit: facts.bits('tsc'),
        noRetCompBit: facts.bits('noretcomp'),
        mtcBit: facts.bits('mtc'),
        mtcFreqBits: facts.bits('mtc_period'),
        cycBit: facts.bits('cyc'),
        schedSwitch: open.switches,
        isSnapshot: open.isSnapshot,
        isPerCpu: true,
        ...facts.tscRatio(),
        maxNonTurboRatio: facts.number('max_nonturbo_ratio'),
        filter: open.filter,
        hasEventTrace: facts.capability('event_trace') === 1,
      }),
    reference: ({ eventPage }, nowNs) => tscAt(eventPage, nowNs),
  };
}

function plan(facts: PtFacts, event: PlannedEvent, request: TraceRequest): void {
  const { attr } = event;
  attr.flags.freq = 0;
  attr.samplePeriodOrFreq = 1n;
  // Guests are traced with the host, or not at all: the module kvm_intel decides.
  attr.flags.excludeGuest = 0;
  attr.sampleType |= BigInt(PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
  // Without it the kernel only refuses.
  if (facts.hasTerm('pt')) attr.config |= facts.bits('pt');
  // A part of the trace is of use from its first synchronisation point on.
  if (request.sampleBytes > 0 && !/\bpsb_period\b/.test(event.requestedName))
    attr.config = facts.withTerm(attr.config, 'psb_period', 0);
  // Of a machine that has none, the kernel says so.
  if (facts.isPresent) checkListedTerms(facts, event);
  const aux = planArea(request, LIMITS);
  if (!aux.overwrites) attr.auxWatermark = aux.sizeBytes / 4;
  event.aux = aux;
}

function checkListedTerms(facts: PtFacts, { attr, requestedName }: PlannedEvent): void {
  for (const [term, list, needed] of LISTED_TERMS) {
    const isThere = facts.capability(needed) !== 0;
    const valid = (isThere ? (facts.capability(list, 16) ?? 0) : 0) | 1;
    const value = facts.valueOf(attr.config, term);
    if (value < 32 && ((valid >>> value) & 1) === 1) continue;
    const values = Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => ((valid >>> bit) & 1) === 1);
    throw new CounterpointError(
      'ERR_TRACE_TERM',
      `the Intel PT of this machine has no ${term}=${value}, which ${requestedName} requests`,
      `Give one of: ${values.join(', ')}.`,
    );
  }
}
