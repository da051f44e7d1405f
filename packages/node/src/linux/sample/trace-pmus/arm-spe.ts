import {
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_PHYS_ADDR,
} from '@counterpoint/core/abi';
import type { ParsedEvent } from '@counterpoint/core/events';
import { PMU_FOLDERS, PmuFacts } from '../../kernel/local-pmus/index.ts';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { type KernelFiles, realFiles } from '../../kernel/probe/index.ts';
import { planArea } from './plan-area.ts';
import { refuseSamplesOfTrace } from './refusals.ts';
import { AUXTRACE_ARM_SPE, traceInfoRecord } from './trace-info.ts';
import type { TraceRequest, TraceSource } from './trace-source.ts';

const NAME = /^arm_spe_\d+$/;
const LEAST_BYTES = 8 * 1024;
const LIMITS = { traced: 'Arm SPE', leastBytes: LEAST_BYTES, leastOverwrittenBytes: LEAST_BYTES };
/** The longest that the architecture has (PMSIDR_EL1.Interval), where the driver does not say. */
const LONGEST_INTERVAL = 4096;

/**
 * Statistical Profiling Extension of Arm: samples of instructions, written as a trace. Asked for as `perf
 * record` does (tools/perf/arch/arm64/util/arm-spe.c): period is the interval between samples.
 */
export function armSpe(files: KernelFiles = realFiles): TraceSource {
  const factsOf = (pmu: string) => new PmuFacts(files, `${PMU_FOLDERS}/${pmu}`);
  return {
    scope: 'cpus',
    isOf: (pmu) => NAME.test(pmu),
    usualPeriod: (pmu) => BigInt(factsOf(pmu).capability('min_interval') ?? LONGEST_INTERVAL),
    plan: (event, request, parsed) => plan(factsOf(parsed.pmu!), event, request, parsed),
    needsSwitches: () => true,
    // PMU type, areas per CPU: perf leaves the second word 0 (tools/perf/util/arm-spe.h).
    info: ({ attr }) => traceInfoRecord(AUXTRACE_ARM_SPE, [BigInt(attr.type), 0n]),
    reference: (_, nowNs) => nowNs,
  };
}

function plan(facts: PmuFacts, event: PlannedEvent, request: TraceRequest, { name }: ParsedEvent): void {
  refuseSamplesOfTrace(name, request);
  const { attr } = event;
  attr.flags.freq = 0;
  attr.sampleType |= BigInt(PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_DATA_SRC);
  // Samples are put to threads by their times.
  if (!/\bts_enable\b/.test(name)) attr.config |= facts.bits('ts_enable');
  if ((attr.config & facts.bits('pa_enable')) !== 0n) attr.sampleType |= BigInt(PERF_SAMPLE_PHYS_ADDR);
  event.aux = planArea(request, LIMITS);
}
