import type { EventLookup, PmuDescription } from '@counterpoint/core/events';
import {
  PT_CONFIG_BRANCH,
  PT_CONFIG_NORETCOMP,
  PT_CONFIG_PT,
  PT_CONFIG_TSC,
} from '@counterpoint/trace/intel-pt';
import type { SoftKind, SoftTracing } from './messages.ts';

/** `attr.type` of the events here, which no kernel gives to a PMU; it is never told. */
export const SOFT_PMU_TYPE = 0x736f_6674;

/** `attr.type` of traces. */
export const SOFT_PT_TYPE = 0x736f_7074;

const PSB_PERIOD_SHIFT = 24n;
/** The exponent of 2 KiB, times 2: a PSB each 4 KiB, and perf's default, too. */
const DEFAULT_PSB_PERIOD = 1n;
const PSB_PERIOD_BITS = 0xfn;
/** psb_period 0 (SDM, IA32_RTIT_CTL.PSBFreq). */
const LEAST_PSB_BYTES = 2048;

/** By `attr.config`. */
const KINDS: readonly SoftKind[] = ['instructions', 'branches', 'cond', 'calls', 'taken'];
const TAKEN = 4n;
/** A prime, so that a loop is not met at the same place each time. */
const DEFAULT_PERIOD = 10_007n;

const DESCRIPTIONS: Readonly<Record<Exclude<SoftKind, 'taken'>, string>> = {
  instructions: 'instructions in user space, each counted by stepping',
  branches: 'jumps, calls and returns, taken or not',
  cond: 'conditional jumps, taken or not',
  calls: 'calls of functions',
};

const SOFT: PmuDescription = {
  name: 'soft',
  type: SOFT_PMU_TYPE,
  formats: new Map([['event', 'config:0-7']]),
  events: new Map(
    Object.entries(DESCRIPTIONS).map(([name, description]) => {
      const terms = `event=${KINDS.indexOf(name as SoftKind)}`;
      return [name, { terms, description, samplePeriod: DEFAULT_PERIOD }];
    }),
  ),
};

const SOFT_BTS: PmuDescription = {
  name: 'soft_bts',
  type: SOFT_PMU_TYPE,
  formats: new Map(),
  events: new Map(),
  defaultConfig: TAKEN,
};

/**
 * Packets of Intel PT, with its terms as far as they make sense here; as with
 * Intel PT, returns are compressed.
 */
const SOFT_PT: PmuDescription = {
  name: 'soft_pt',
  type: SOFT_PT_TYPE,
  formats: new Map([
    ['pt', 'config:0'],
    ['tsc', 'config:10'],
    ['noretcomp', 'config:11'],
    ['branch', 'config:13'],
    ['psb_period', 'config:24-27'],
  ]),
  events: new Map(),
  defaultConfig: PT_CONFIG_PT | PT_CONFIG_TSC | PT_CONFIG_BRANCH | (DEFAULT_PSB_PERIOD << PSB_PERIOD_SHIFT),
};

const OWN = [SOFT, SOFT_BTS, SOFT_PT];

/** What a machine offers, and the PMUs in software beside it. */
export function withSoftPmus(lookup: EventLookup): EventLookup {
  return {
    ...lookup,
    pmu: (name) => OWN.find((own) => own.name === name) ?? lookup.pmu(name),
    pmuNames: () => [...lookup.pmuNames(), ...OWN.map(({ name }) => name)],
  };
}

/** What is an event of this attr; null: it is none of a PMU in software. */
export function softKindOf({ type, config }: { type: number; config: bigint }): SoftKind | null {
  return type === SOFT_PMU_TYPE ? (KINDS[Number(config)] ?? null) : null;
}

/** What is traced for an event of this attr; null: it is no trace. */
export function softTracingOf({ type, config }: { type: number; config: bigint }): SoftTracing | null {
  if (type !== SOFT_PT_TYPE) return null;
  return {
    returnCompression: (config & PT_CONFIG_NORETCOMP) === 0n,
    hasTsc: (config & PT_CONFIG_TSC) !== 0n,
    psbBytes: LEAST_PSB_BYTES << Number((config >> PSB_PERIOD_SHIFT) & PSB_PERIOD_BITS),
  };
}
