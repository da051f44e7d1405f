import { type KernelFiles, realFiles } from '../probe/index.ts';
import { PMU_FOLDERS, PmuFacts } from './pmu-facts.ts';

const INTEL_PT = `${PMU_FOLDERS}/intel_pt`;

/**
 * The terms of the PMU, by the kernel's driver (arch/x86/events/intel/pt.c), for where sysfs does not say.
 */
const TERMS: Readonly<Record<string, readonly [low: number, high: number]>> = {
  pt: [0, 0],
  cyc: [1, 1],
  pwr_evt: [4, 4],
  fup_on_ptw: [5, 5],
  mtc: [9, 9],
  tsc: [10, 10],
  noretcomp: [11, 11],
  ptw: [12, 12],
  branch: [13, 13],
  mtc_period: [14, 17],
  cyc_thresh: [19, 22],
  psb_period: [24, 27],
  event: [31, 31],
  notnt: [55, 55],
};

/** What the Intel PT of a machine can do, from its folder in sysfs. */
export class PtFacts extends PmuFacts {
  constructor(files: KernelFiles = realFiles, folder = INTEL_PT) {
    super(files, folder, TERMS);
  }

  /** TSC ticks for each of the crystal (CPUID 15H, ebx over eax); zeros: not known. */
  tscRatio(): { tscCtcNumerator: number; tscCtcDenominator: number } {
    const match = /^(\d+):(\d+)$/.exec(this.read('tsc_art_ratio')?.trim() ?? '');
    return { tscCtcNumerator: Number(match?.[1] ?? 0), tscCtcDenominator: Number(match?.[2] ?? 0) };
  }

  /** What `config` is before any term, as perf has it (`intel_pt_default_config`). */
  defaultConfig(): bigint {
    let config = this.withTerm(0n, 'tsc', 1);
    const mtcPeriods = (this.capability('mtc') ?? 1) === 0 ? 0 : (this.capability('mtc_periods', 16) ?? 0);
    if (mtcPeriods !== 0) {
      config = this.withTerm(config, 'mtc', 1);
      config = this.withTerm(config, 'mtc_period', pickBit(mtcPeriods, DEFAULT_PERIOD));
    }
    const psbPeriods =
      (this.capability('psb_cyc') ?? 1) === 0 ? 0 : (this.capability('psb_periods', 16) ?? 0);
    if (mtcPeriods !== 0 && psbPeriods !== 0)
      config = this.withTerm(config, 'psb_period', pickBit(psbPeriods, DEFAULT_PERIOD));
    if (this.hasTerm('pt') && this.hasTerm('branch'))
      config = this.withTerm(this.withTerm(config, 'pt', 1), 'branch', 1);
    return config;
  }
}

const DEFAULT_PERIOD = 3;

/** The highest bit of a mask up to `target`, else the lowest above it. */
function pickBit(mask: number, target: number): number {
  const bits = Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => ((mask >>> bit) & 1) === 1);
  return bits.findLast((bit) => bit <= target) ?? bits[0] ?? 0;
}
