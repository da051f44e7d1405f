import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SYNTH,
} from '@counterpoint/core/abi';
import { eventNameFromAttr } from '@counterpoint/core/events';
import type { PerfDataReader, RecordedEvent } from '@counterpoint/core/perfdata';
import { makeAttr, NO_CHAIN_LIMIT } from '@counterpoint/core/records';
import { PT_CONFIG_EVENT_TRACE } from '../../pt/index.ts';
import type { ItraceOptions } from './itrace-options.ts';

export const SYNTHETIC_PTWRITE = 0n;
export const SYNTHETIC_MWAIT = 1n;
export const SYNTHETIC_PWRE = 2n;
export const SYNTHETIC_EXSTOP = 3n;
export const SYNTHETIC_PWRX = 4n;
export const SYNTHETIC_CBR = 5n;
export const SYNTHETIC_PSB = 6n;
export const SYNTHETIC_EVT = 7n;
export const SYNTHETIC_IFLAG = 8n;

const CYCLES = 0n;
const INSTRUCTIONS = 1n;
const BRANCHES = 4n;

/** Bits of the trace's own event that its samples have as well. */
const COMMON_BITS =
  PERF_SAMPLE_IP |
  PERF_SAMPLE_TID |
  PERF_SAMPLE_TIME |
  PERF_SAMPLE_ADDR |
  PERF_SAMPLE_ID |
  PERF_SAMPLE_STREAM_ID |
  PERF_SAMPLE_CPU |
  PERF_SAMPLE_PERIOD |
  PERF_SAMPLE_IDENTIFIER;

/** perf gives its events ids that the kernel's counters do not reach. */
const ID_DISTANCE = 1_000_000_000;

/** The events that a trace's samples belong to; null where they were not asked for. */
export interface SyntheticEvents {
  branches: RecordedEvent | null;
  calls: RecordedEvent | null;
  instructions: RecordedEvent | null;
  cycles: RecordedEvent | null;
  transactions: RecordedEvent | null;
  ptwrite: RecordedEvent | null;
  cbr: RecordedEvent | null;
  psb: RecordedEvent | null;
  mwait: RecordedEvent | null;
  pwre: RecordedEvent | null;
  exstop: RecordedEvent | null;
  pwrx: RecordedEvent | null;
  evt: RecordedEvent | null;
  iflag: RecordedEvent | null;
}

/** Put them into the recording's table, as if they had been recorded beside the trace's own event. */
export function addSyntheticEvents(
  reader: PerfDataReader,
  traceEvent: RecordedEvent,
  options: ItraceOptions,
  facts: { hasTime: boolean; isPerCpu: boolean; hasInterruptFlag: boolean },
): SyntheticEvents {
  const { excludeUser, excludeKernel, excludeHv, excludeHost, excludeGuest } = traceEvent.attr.flags;
  let id = (traceEvent.ids[0] ?? 0) + ID_DISTANCE;
  const own = traceEvent.layout.sampleType & COMMON_BITS & ~(PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
  const base =
    own |
    PERF_SAMPLE_IP |
    PERF_SAMPLE_TID |
    (facts.hasTime ? PERF_SAMPLE_TIME : 0) |
    (facts.isPerCpu ? PERF_SAMPLE_CPU : 0);
  const add = (
    type: number,
    config: bigint,
    bits: number,
    name: string | null,
    period = 1,
  ): RecordedEvent => {
    const attr = makeAttr({
      type,
      config,
      sampleType: BigInt(bits),
      samplePeriodOrFreq: BigInt(period),
      // The options say how deep its chains go, not the kernel.
      sampleMaxStack: NO_CHAIN_LIMIT,
      flags: { sampleIdAll: 1, excludeUser, excludeKernel, excludeHv, excludeHost, excludeGuest },
    });
    return reader.events.add(attr, [id++], name ?? eventNameFromAttr(attr));
  };
  const counted = base | PERF_SAMPLE_PERIOD;
  const stacks =
    (options.callChain > 0 ? PERF_SAMPLE_CALLCHAIN : 0) |
    (options.lastBranches > 0 ? PERF_SAMPLE_BRANCH_STACK : 0);
  const power = (config: bigint, name: string): RecordedEvent | null =>
    options.power
      ? add(PERF_TYPE_SYNTH, config, (base & ~PERF_SAMPLE_PERIOD) | PERF_SAMPLE_RAW | stacks, name)
      : null;
  return {
    branches: options.branches ? add(PERF_TYPE_HARDWARE, BRANCHES, counted | PERF_SAMPLE_ADDR, null) : null,
    calls: options.callSteps
      ? add(PERF_TYPE_HARDWARE, BRANCHES, counted | PERF_SAMPLE_CALLCHAIN, 'calls')
      : null,
    instructions: options.instructions
      ? add(PERF_TYPE_HARDWARE, INSTRUCTIONS, counted | stacks, null, options.period)
      : null,
    cycles: options.cycles ? add(PERF_TYPE_HARDWARE, CYCLES, counted | stacks, null, options.period) : null,
    transactions: options.transactions
      ? add(PERF_TYPE_HARDWARE, INSTRUCTIONS, counted | stacks, 'transactions')
      : null,
    ptwrite: options.ptwrites
      ? add(
          PERF_TYPE_SYNTH,
          SYNTHETIC_PTWRITE,
          (base & ~PERF_SAMPLE_PERIOD) | PERF_SAMPLE_RAW | stacks,
          'ptwrite',
        )
      : null,
    cbr: power(SYNTHETIC_CBR, 'cbr'),
    psb: power(SYNTHETIC_PSB, 'psb'),
    mwait: power(SYNTHETIC_MWAIT, 'mwait'),
    pwre: power(SYNTHETIC_PWRE, 'pwre'),
    exstop: power(SYNTHETIC_EXSTOP, 'exstop'),
    pwrx: power(SYNTHETIC_PWRX, 'pwrx'),
    evt:
      options.eventTrace && (traceEvent.attr.config & PT_CONFIG_EVENT_TRACE) !== 0n
        ? add(PERF_TYPE_SYNTH, SYNTHETIC_EVT, (base & ~PERF_SAMPLE_PERIOD) | PERF_SAMPLE_RAW | stacks, 'evt')
        : null,
    iflag:
      options.eventTrace && facts.hasInterruptFlag
        ? add(
            PERF_TYPE_SYNTH,
            SYNTHETIC_IFLAG,
            (base & ~PERF_SAMPLE_PERIOD) | PERF_SAMPLE_RAW | stacks,
            'iflag',
          )
        : null,
  };
}
