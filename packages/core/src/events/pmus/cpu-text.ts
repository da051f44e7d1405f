import type { CpuIdentity, KernelCounterReport } from './types.ts';

/** What /proc/cpuinfo tells of one CPU. */
export type CpuInfo = Pick<
  CpuIdentity,
  'vendor' | 'family' | 'model' | 'stepping' | 'modelName' | 'flags' | 'midr'
>;

/**
 * The block of one CPU in /proc/cpuinfo (the first one where that CPU is not there, or the lines of
 * all, as on POWER). Keys differ by architecture: `cpu family` on x86, `CPU implementer` … on Arm,
 * `cpu` on POWER, `cpu model` on MIPS.
 */
export function parseCpuInfo(text: string, cpu = 0): CpuInfo {
  const blocks = text.split(/\n\s*\n/).map(readBlock);
  const block = blocks.find((candidate) => candidate.get('processor') === String(cpu)) ?? blocks[0]!;
  const common = new Map([...blocks.flatMap((each) => [...each])].reverse());
  const value = (key: string) => block.get(key) ?? common.get(key);
  return {
    vendor: value('vendor_id') ?? null,
    family: wholeNumber(value('cpu family')),
    model: wholeNumber(value('model')),
    stepping: wholeNumber(value('stepping')),
    modelName: value('model name') ?? value('cpu') ?? value('cpu model') ?? value('uarch') ?? null,
    flags: new Set((value('flags') ?? value('Features') ?? '').split(' ').filter((flag) => flag !== '')),
    midr: midrOf(value),
  };
}

function readBlock(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) found.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return found;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^(?:\d{1,9}|0x[\da-f]{1,8})$/i.test(text) ? Number(text) : null;
}

/**
 * MIDR_EL1 from its parts: implementer 31-24 | variant 23-20 | architecture 19-16
 * (0xf) | part 15-4 | revision 3-0.
 */
function midrOf(value: (key: string) => string | undefined): number | null {
  const implementer = wholeNumber(value('CPU implementer'));
  const part = wholeNumber(value('CPU part'));
  if (implementer === null || part === null) return null;
  const variant = wholeNumber(value('CPU variant')) ?? 0;
  const revision = wholeNumber(value('CPU revision')) ?? 0;
  return (
    (((implementer & 0xff) << 24) |
      ((variant & 0xf) << 20) |
      (0xf << 16) |
      ((part & 0xfff) << 4) |
      (revision & 0xf)) >>>
    0
  );
}

/**
 * Lines of the kernel log in which drivers say how many counters they found: [pattern, what its number is].
 */
type Reading = readonly [RegExp, (found: RegExpExecArray) => Partial<KernelCounterReport>];

const READINGS: readonly Reading[] = [
  // arch/x86/events/core.c, init_hw_perf_events; with "counters" since Linux 6.14
  [/\.\.\. generic (?:registers|counters): +(\d+)/, (found) => ({ general: Number(found[1]) })],
  [/\.\.\. generic bitmap: +([\da-f]{16})/, (found) => ({ general: countBits(found[1]!) })],
  [/\.\.\. fixed-purpose (?:events|counters): +(\d+)/, (found) => ({ fixed: Number(found[1]) })],
  [/\.\.\. fixed-purpose bitmap: +([\da-f]{16})/, (found) => ({ fixed: countBits(found[1]!) })],
  [/\.\.\. bit width: +(\d+)/, (found) => ({ widthBits: Number(found[1]) })],
  // drivers/perf/arm_pmu.c: the cycle counter is one of them
  [
    /hw perfevents: enabled with armv8\S* PMU driver, (\d+) (?:\([^)]*\) )?counters available/,
    (found) => ({ general: Math.max(0, Number(found[1]) - 1), fixed: 1 }),
  ],
  // drivers/perf/riscv_pmu_sbi.c
  [
    /riscv-pmu-sbi: (\d+) firmware and (\d+) hardware counters/,
    (found) => ({ firmware: Number(found[1]), general: Number(found[2]) }),
  ],
  // arch/mips/kernel/perf_event_mipsxx.c
  [
    /mips\/\S+ PMU enabled, (\d+) (\d+)-bit counters available/,
    (found) => ({ general: Number(found[1]), widthBits: Number(found[2]) }),
  ],
];

/** What the kernel log says of the PMU; `null` where it says nothing, or has forgotten. */
export function parseKernelLog(text: string): KernelCounterReport | null {
  let report: KernelCounterReport | null = null;
  for (const [pattern, read] of READINGS) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const before: KernelCounterReport = report ?? {
      general: null,
      fixed: null,
      widthBits: null,
      firmware: null,
    };
    const numbers = Object.entries(read(found)).map(([key, number]) => [key, Math.min(number ?? 0, 64)]);
    report = { ...before, ...Object.fromEntries(numbers) };
  }
  return report;
}

function countBits(hex: string): number {
  return [...BigInt(`0x${hex}`).toString(2)].filter((bit) => bit === '1').length;
}
