import {
  PERF_REGISTERS,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '@counterpoint/core/abi';
import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import type { PerfEventAttr } from '@counterpoint/core/records';

/** On x86 a weight is three numbers (`union perf_sample_weight`). */
const WEIGHT = process.arch === 'x64' ? PERF_SAMPLE_WEIGHT_STRUCT : PERF_SAMPLE_WEIGHT;

/** What samples can carry beside the usual. */
export type SamplePart =
  | 'data-address'
  | 'physical-address'
  | 'data-page-size'
  | 'code-page-size'
  | 'weight'
  | 'transaction'
  | 'raw'
  | 'cpu'
  | 'period'
  | 'cgroup';

/** Records of what happens to tasks, beside those of maps, names, forks and exits. */
export type SidebandPart = 'switches' | 'namespaces' | 'cgroups';

/** The bits of `sample_type` of each part, as perf sets them. */
export const SAMPLE_PARTS: Readonly<Record<SamplePart, number>> = {
  'data-address': PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC,
  'physical-address': PERF_SAMPLE_PHYS_ADDR,
  'data-page-size': PERF_SAMPLE_DATA_PAGE_SIZE,
  'code-page-size': PERF_SAMPLE_CODE_PAGE_SIZE,
  weight: WEIGHT,
  transaction: PERF_SAMPLE_TRANSACTION,
  raw: PERF_SAMPLE_RAW | PERF_SAMPLE_CPU,
  cpu: PERF_SAMPLE_CPU,
  period: PERF_SAMPLE_PERIOD,
  cgroup: PERF_SAMPLE_CGROUP,
};

/** The attr's flag of each. */
export const SIDEBAND_PARTS: Readonly<Record<SidebandPart, 'contextSwitch' | 'namespaces' | 'cgroup'>> = {
  switches: 'contextSwitch',
  namespaces: 'namespaces',
  cgroups: 'cgroup',
};

/** What samples carry, and what is recorded beside them. */
export interface RecordedParts {
  samples?: readonly SamplePart[];
  sideband?: readonly SidebandPart[];
  /** Masks of `asm/perf_regs.h`: registers where the event happened, and those of user space. */
  interruptRegisters?: bigint;
  userRegisters?: bigint;
}

/** Sets what the samples of one event carry. */
export function addParts(attr: PerfEventAttr, parts: RecordedParts): void {
  let bits = 0;
  for (const part of parts.samples ?? []) bits |= SAMPLE_PARTS[part];
  if (parts.interruptRegisters !== undefined) {
    bits |= PERF_SAMPLE_REGS_INTR;
    attr.sampleRegsIntr = parts.interruptRegisters;
  }
  if (parts.userRegisters !== undefined) {
    bits |= PERF_SAMPLE_REGS_USER;
    attr.sampleRegsUser |= parts.userRegisters;
  }
  attr.sampleType |= BigInt(bits);
}

/** Sets what the event that tells of tasks tells beside the usual. */
export function addSideband(attr: PerfEventAttr, { samples = [], sideband = [] }: RecordedParts): void {
  for (const part of sideband) attr.flags[SIDEBAND_PARTS[part]] = 1;
  // Addresses of data are told by maps of data.
  if (samples.includes('data-address')) attr.flags.mmapData = 1;
}

const REGISTERS = PERF_REGISTERS[process.arch === 'arm64' ? 'arm64' : 'x64'];

/** The names of this machine's registers, as perf has them. */
export const REGISTER_NAMES: readonly string[] = REGISTERS.filter((name) => name !== null);

/** Every register of `asm/perf_regs.h`. */
export const ALL_REGISTERS: bigint = maskOf(REGISTER_NAMES);

/** The mask of these registers, in any case; throws for a name that none has. */
export function registerMask(names: readonly string[]): bigint {
  for (const name of names) {
    if (REGISTER_NAMES.includes(name.toLowerCase())) continue;
    throw new CounterpointError(
      'ERR_REGISTER',
      `this machine has no register ${name}${didYouMean(nearestNames(name.toLowerCase(), REGISTER_NAMES))}`,
      `Give some of: ${REGISTER_NAMES.join(', ')}.`,
    );
  }
  return maskOf(names.map((name) => name.toLowerCase()));
}

function maskOf(names: readonly string[]): bigint {
  return names.reduce((mask, name) => mask | (1n << BigInt(REGISTERS.indexOf(name))), 0n);
}
