import {
  MMAP_CAP_USER_TIME_ZERO,
  MMAP_PAGE_CAPABILITIES,
  MMAP_PAGE_TIME_MULT,
  MMAP_PAGE_TIME_SHIFT,
  MMAP_PAGE_TIME_ZERO,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { encodePtInfo, type PerfClock } from '@counterpoint/trace/intel-pt';
import { PtFacts } from '../../kernel/local-pmus/index.ts';
import type { AuxRequest, PlannedEvent } from '../../kernel/perf-events/index.ts';
import type { TraceRequest, TraceSource } from './trace-source.ts';

const KIB = 1024;
const MIB = KIB * KIB;
/** perf's, with the right to lock memory, and without. */
const DEFAULT_BYTES = { privileged: 4 * MIB, others: 128 * KIB };
/** The driver's double buffering needs two pages, snapshots need one. */
const LEAST_BYTES = 8 * KIB;
const LEAST_OVERWRITTEN_BYTES = 4 * KIB;

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
    pmu: 'intel_pt',
    plan: (event, request) => plan(facts, event, request),
    needsSwitches: ({ attr }) => (attr.config & facts.bits('tsc')) !== 0n,
    info: ({ attr }, open) =>
      encodePtInfo({
        pmuType: attr.type,
        clock: clockOf(open.eventPage),
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
    reference({ eventPage }, nowNs) {
      const clock = clockOf(eventPage);
      return clock === null ? nowNs : ticksOf(clock, nowNs);
    },
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
  const overwrites = request.snapshotBytes > 0 || request.sampleBytes > 0;
  const aux = areaRequest(request, overwrites);
  if (!overwrites) attr.auxWatermark = aux.sizeBytes / 4;
  event.aux = aux;
}

function areaRequest(
  { areaBytes, isPrivileged, snapshotBytes, sampleBytes, pageBytes }: TraceRequest,
  overwrites: boolean,
): AuxRequest {
  const leastBytes = overwrites ? LEAST_OVERWRITTEN_BYTES : LEAST_BYTES;
  const usual = isPrivileged ? DEFAULT_BYTES.privileged : DEFAULT_BYTES.others;
  const held = sampleBytes > 0 ? sampleBytes : Number.isFinite(snapshotBytes) ? snapshotBytes : 0;
  const wanted = areaBytes ?? (held > 0 ? powerOfTwo(Math.max(held, pageBytes)) : usual);
  if (wanted < leastBytes || powerOfTwo(wanted) !== wanted)
    throw new CounterpointError(
      'ERR_AUX_AREA',
      `Intel PT cannot be traced into ${wanted} bytes`,
      `Give a power of two of at least ${leastBytes / KIB} KiB behind the comma of -m, such as -m ,4M.`,
    );
  if (held > wanted)
    throw new CounterpointError(
      'ERR_AUX_AREA',
      `${sampleBytes > 0 ? 'samples' : 'snapshots'} of ${held} bytes of trace do not fit into an area of ${wanted} bytes`,
      'Give a larger area behind the comma of -m, or ask for less.',
    );
  return {
    sizeBytes: wanted,
    enoughBytes: Math.min(wanted, usual),
    // What was asked for must fit.
    leastBytes: Math.max(leastBytes, powerOfTwo(held)),
    overwrites,
    isSampled: sampleBytes > 0,
    takenBytes: snapshotBytes > 0 ? snapshotBytes : Number.POSITIVE_INFINITY,
  };
}

function powerOfTwo(size: number): number {
  return size <= 1 ? 1 : 2 ** Math.ceil(Math.log2(size));
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

/** The TSC of a time on perf's clock, about. */
function ticksOf({ timeZero, timeMult, timeShift }: PerfClock, timeNs: bigint): bigint {
  return BigInt.asUintN(64, (BigInt.asUintN(64, timeNs - timeZero) << BigInt(timeShift)) / BigInt(timeMult));
}

/** Null where the kernel does not tie its clock to the TSC. */
function clockOf(eventPage: ArrayBuffer): PerfClock | null {
  const page = new DataView(eventPage);
  const timeMult = page.getUint32(MMAP_PAGE_TIME_MULT, true);
  if ((page.getUint32(MMAP_PAGE_CAPABILITIES, true) & MMAP_CAP_USER_TIME_ZERO) === 0 || timeMult === 0)
    return null;
  return {
    timeShift: page.getUint16(MMAP_PAGE_TIME_SHIFT, true),
    timeMult,
    timeZero: page.getBigUint64(MMAP_PAGE_TIME_ZERO, true),
  };
}
