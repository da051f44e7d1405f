/**
 * The hardware's own record of an overflow (PEBS of Intel, IBS of AMD): the exact instruction, and with it
 * the address of the data, where that came from, how long it took, the registers of that moment. The
 * kernel reads it for events with `precise_ip` and writes it into its own records, so no program runs
 * here: this format asks for all of it, and is refused where no hardware can give it, since the kernel
 * leaves fields at 0 that it does not know.
 */
import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_HW_CACHE,
  PERF_TYPE_RAW,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { type KernelFiles, realFiles } from '../../../kernel/probe/index.ts';
import { defineFormat, type FormatEvent } from '../format.ts';
import { interruptRegisterMask } from './interrupt-registers.ts';

const DEVICES = '/sys/bus/event_source/devices';
/**
 * Their records are of the hardware whatever precision is asked for; the driver
 * does not say how precise it is.
 */
const ALWAYS_PRECISE = /^ibs_(?:op|fetch)$/;
const LEVEL_OF_THOSE = 2;

/** What no hardware counts, by `perf_event_attr.type`. */
const NOT_HARDWARE: Readonly<Record<number, string>> = {
  [PERF_TYPE_SOFTWARE]: 'the kernel counts it in software',
  [PERF_TYPE_TRACEPOINT]: 'it is a tracepoint',
  [PERF_TYPE_BREAKPOINT]: 'it is a breakpoint',
};
/** Types that any PMU of the cores answers. */
const OF_CORES: ReadonlySet<number> = new Set([PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW]);
/** PMUs of cores by name; those of others with a type of their own are found by that. */
const CORE_PMU = /^(?:cpu|cpu_core|cpu_atom|armv\d.*|riscv.*)$/;

/**
 * How precise the PMU of an event can be, from 1 to 3. Throws `ERR_NOT_PRECISE`
 * with the reason where it is not.
 */
export function precisionOf({ name, attr }: FormatEvent, files: KernelFiles): number {
  const refuse = (why: string, remedy: string): never => {
    throw new CounterpointError('ERR_NOT_PRECISE', `the format precise cannot have ${name}: ${why}`, remedy);
  };
  const software = NOT_HARDWARE[attr.type];
  if (software !== undefined)
    return refuse(
      `${software}, so it has no hardware record`,
      'Sample an event of the CPU: cycles, instructions, mem-loads.',
    );
  const pmus = files.list(DEVICES).filter((pmu) => {
    if (OF_CORES.has(attr.type)) return CORE_PMU.test(pmu);
    return Number(files.read(`${DEVICES}/${pmu}/type`)) === attr.type;
  });
  if (pmus.length === 0)
    return refuse(
      'this machine offers no hardware counters (most virtual machines do not)',
      'counterpoint doctor shows what it has.',
    );
  const levels = pmus.map((pmu) =>
    ALWAYS_PRECISE.test(pmu) ? LEVEL_OF_THOSE : Number(files.read(`${DEVICES}/${pmu}/caps/max_precise`) ?? 0),
  );
  const level = Math.max(...levels);
  if (level > 0) return level;
  const hasIbs = files.list(DEVICES).includes('ibs_op');
  return refuse(
    `${pmus.join(', ')} has no precise sampling (caps/max_precise is ${files.read(`${DEVICES}/${pmus[0]}/caps/max_precise`)?.trim() ?? 'absent'})`,
    hasIbs ? 'Sample ibs_op//, which this CPU has.' : 'Use a CPU with PEBS (Intel) or IBS (AMD).',
  );
}

/** The format over the files of a machine; tests give others. */
export function preciseFormat(files: KernelFiles) {
  return defineFormat({
    name: 'precise',
    version: 1,
    summary: "the hardware's own record: exact address, data address, source, latency",
    options: {
      level: {
        type: 'count',
        default: 0,
        max: 3,
        help: '1: constant skid, 2: no skid requested, 3: no skid; 0: the highest level of the hardware',
      },
      address: { type: 'switch', default: true, help: 'the address of the data' },
      source: {
        type: 'switch',
        default: true,
        help: 'where the data came from: level of cache, memory, TLB',
      },
      weight: { type: 'switch', default: true, help: 'the latency of the access, in cycles' },
      registers: { type: 'switch', default: false, help: 'the registers of that instruction' },
      transaction: {
        type: 'switch',
        default: false,
        help: 'the transaction of that instruction, and why it ended',
      },
      physical: {
        type: 'switch',
        default: false,
        help: 'the physical address of the data (needs CAP_SYS_ADMIN or a low perf_event_paranoid)',
      },
    },
    plan(options, { events }) {
      const can = Math.min(...events.map((event) => precisionOf(event, files)));
      if (options.level > can)
        throw new CounterpointError(
          'ERR_NOT_PRECISE',
          `the hardware is precise up to level ${can}, not ${options.level}`,
          'Leave level out.',
        );
      const wanted: [boolean, number][] = [
        [options.address, PERF_SAMPLE_ADDR],
        [options.source, PERF_SAMPLE_DATA_SRC],
        [options.weight, PERF_SAMPLE_WEIGHT],
        [options.registers, PERF_SAMPLE_REGS_INTR],
        [options.transaction, PERF_SAMPLE_TRANSACTION],
        [options.physical, PERF_SAMPLE_PHYS_ADDR],
      ];
      const bits = wanted.reduce((sum, [isWanted, bit]) => (isWanted ? sum | bit : sum), 0);
      const precise = options.level === 0 ? can : options.level;
      return {
        sampleFields: { bits, precise, ...(options.registers ? { registers: interruptRegisterMask() } : {}) },
      };
    },
    async *collect() {},
  });
}

export default preciseFormat(realFiles);
