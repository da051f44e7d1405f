import { PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER } from '@counterpoint/core/abi';
import { CounterpointError, printable } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { PMU_FOLDERS, PmuFacts } from '../../kernel/local-pmus/index.ts';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { type KernelFiles, realFiles } from '../../kernel/probe/index.ts';
import {
  csEtmWords,
  type EtmKind,
  etmKindOf,
  OPTION_CONTEXT_ID,
  OPTION_CONTEXT_ID_2,
} from './cs-etm-words.ts';
import { planArea } from './plan-area.ts';
import { refuseSamplesOfTrace } from './refusals.ts';
import { AUXTRACE_CS_ETM, traceInfoRecord } from './trace-info.ts';
import type { TraceRequest, TraceSource } from './trace-source.ts';

const PMU = 'cs_etm';
const PAGE_BYTES = 4096;
/**
 * The kernel takes any power of two; unprivileged users get no more than 128 KiB
 * by the limit of locked memory.
 */
const LIMITS = { traced: 'Arm CoreSight', leastBytes: PAGE_BYTES, leastOverwrittenBytes: PAGE_BYTES };
/** The sink, in `config2`. */
const SINK_BITS = 0xffff_ffffn;

/**
 * CoreSight's ETM of Arm, asked for as `perf record` does (tools/perf/arch/arm/util/cs-etm.c):
 * `cs_etm/@tmc_etr0/u` names the sink that takes the trace, without one the kernel chooses.
 */
export function csEtm(files: KernelFiles = realFiles): TraceSource {
  const facts = new PmuFacts(files, `${PMU_FOLDERS}/${PMU}`);
  return {
    scope: 'cpus',
    isOf: (pmu) => pmu === PMU,
    hasDriverTerms: true,
    plan: (event, request, parsed) => plan(facts, event, request, parsed),
    needsSwitches: () => true,
    info: ({ attr }, { cpus, isSnapshot }) => {
      const release = files.read('/proc/sys/kernel/osrelease') ?? '';
      return traceInfoRecord(AUXTRACE_CS_ETM, csEtmWords(facts, attr, { cpus, isSnapshot, release }));
    },
    // perf's is a random number: nothing reads it.
    reference: (_, nowNs) => nowNs,
  };
}

function plan(facts: PmuFacts, event: PlannedEvent, request: TraceRequest, parsed: ParsedEvent): void {
  const { name } = parsed;
  refuseSamplesOfTrace(name, request);
  const { attr } = event;
  attr.flags.freq = 0;
  attr.samplePeriodOrFreq = 1n;
  attr.sampleType |= BigInt(PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
  // Which thread it is, by the process id in the trace; and when, to put the records beside it.
  if (!/\bcontextid[12]?\b/.test(name)) attr.config |= facts.bits('contextid');
  if (!/\btimestamp\b/.test(name)) attr.config |= facts.bits('timestamp');
  attr.config2 |= sinkOf(facts, parsed, attr.config2);
  for (const cpu of tracedCpus(facts, request)) checkCpu(facts, cpu, attr.config, name);
  event.aux = planArea(request, LIMITS);
}

function sinkOf(facts: PmuFacts, { name, options }: ParsedEvent, config2: bigint): bigint {
  const [sink, second] = options.driverConfig ?? [];
  if (sink === undefined || (config2 & SINK_BITS) !== 0n) return 0n;
  const text = sink.includes('/') || second !== undefined ? null : facts.read(`sinks/${sink}`);
  if (text !== null && /^(?:0x)?[0-9a-f]+$/i.test(text.trim()))
    return BigInt(`0x${text.trim().replace(/^0x/i, '')}`);
  const sinks = facts.names('sinks').map((one) => `@${one}`);
  throw new CounterpointError(
    'ERR_TRACE_TERM',
    second === undefined
      ? `this machine has no sink ${printable(sink)} of traces, which ${name} requests`
      : `${name} names more than one sink`,
    sinks.length === 0
      ? 'Leave it out: the kernel chooses one.'
      : `Give one of: ${sinks.join(', ')}; or none, and the kernel chooses.`,
  );
}

function tracedCpus(facts: PmuFacts, { cpus }: TraceRequest): number[] {
  const found = facts.names().flatMap((name) => /^cpu(\d+)$/.exec(name)?.[1] ?? []);
  return found.map(Number).filter((cpu) => cpus?.includes(cpu) ?? true);
}

/** What its registers say that it can do (TRCIDR0 and TRCIDR2 of Arm's ETM specification). */
function checkCpu(facts: PmuFacts, cpu: number, config: bigint, name: string): void {
  const kind: EtmKind = etmKindOf(facts, cpu);
  const register = (path: string) => Number.parseInt(facts.read(`cpu${cpu}/${path}`) ?? '', 16);
  const contextBits = facts.bits('contextid') | facts.bits('contextid1') | facts.bits('contextid2');
  const wantsContext = (config & contextBits) !== 0n;
  const wantsTime = (config & facts.bits('timestamp')) !== 0n;
  const refuse = (term: string, why: string) => {
    throw new CounterpointError(
      'ERR_TRACE_TERM',
      `the tracer of CPU ${cpu} ${why}, which ${name} requests`,
      `Switch it off, ${PMU}/${term}=0/, or trace other CPUs with -C.`,
    );
  };
  if (kind === 'etmv3') {
    if (wantsContext) refuse('contextid', 'is an ETMv3, which has no ids of processes');
    if (wantsTime) refuse('timestamp', 'is an ETMv3, which has no times');
    return;
  }
  const trcidr2 = register('trcidr/trcidr2');
  const isContextIdSize32 = ((trcidr2 >>> 5) & 0x1f) === 4;
  const hasVirtualId = ((trcidr2 >>> 29) & 3) !== 0 && ((trcidr2 >>> 10) & 0x1f) >= 4;
  if (wantsContext && (config & OPTION_CONTEXT_ID) !== 0n && !isContextIdSize32)
    refuse('contextid', 'has no ids of processes (CONTEXTIDR_EL1)');
  if (wantsContext && (config & OPTION_CONTEXT_ID_2) !== 0n && !hasVirtualId)
    refuse('contextid', 'has no ids of processes (CONTEXTIDR_EL2)');
  if (wantsTime && ((register('trcidr/trcidr0') >>> 24) & 0x1f) === 0) refuse('timestamp', 'has no times');
}
