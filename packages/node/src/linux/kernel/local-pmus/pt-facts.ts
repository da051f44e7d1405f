import { join } from 'node:path';
import { type KernelFiles, realFiles } from '../probe/index.ts';

const INTEL_PT = '/sys/bus/event_source/devices/intel_pt';

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
export class PtFacts {
  readonly #files: KernelFiles;
  readonly #folder: string;

  constructor(files: KernelFiles = realFiles, folder = INTEL_PT) {
    this.#files = files;
    this.#folder = folder;
  }

  /** Whether the machine has it. */
  get isPresent(): boolean {
    return this.#read('type') !== null;
  }

  /** `caps/NAME` as a number; null: sysfs does not say. `base` 16 for masks. */
  capability(name: string, base: 10 | 16 = 10): number | null {
    const text = this.#read(`caps/${name}`);
    const value = text === null ? Number.NaN : Number.parseInt(text, base);
    return Number.isNaN(value) ? null : value;
  }

  /** A file of the folder as a number, 0 if there is none. */
  number(name: string): number {
    const value = Number(this.#read(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : 0;
  }

  /** The bits of `attr.config` that a term has. */
  bits(term: string): bigint {
    const text = this.#read(`format/${term}`);
    const match = text === null ? null : /^config:(\d+)(?:-(\d+))?$/.exec(text.trim());
    const [low, high] =
      match === null ? (TERMS[term] ?? [0, -1]) : [Number(match[1]), Number(match[2] ?? match[1])];
    return high < low ? 0n : ((1n << BigInt(high - low + 1)) - 1n) << BigInt(low);
  }

  /** Whether the driver knows a term. */
  hasTerm(term: string): boolean {
    return this.#read(`format/${term}`) !== null;
  }

  /** What a term is in a config. */
  valueOf(config: bigint, term: string): number {
    const bits = this.bits(term);
    return bits === 0n ? 0 : Number((config & bits) / (bits & -bits));
  }

  /** A config with another value of a term. */
  withTerm(config: bigint, term: string, value: number): bigint {
    const bits = this.bits(term);
    return (config & ~bits) | (BigInt(value) * (bits & -bits));
  }

  /** TSC ticks for each of the crystal (CPUID 15H, ebx over eax); zeros: not known. */
  tscRatio(): { tscCtcNumerator: number; tscCtcDenominator: number } {
    const match = /^(\d+):(\d+)$/.exec(this.#read('tsc_art_ratio')?.trim() ?? '');
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

  #read(name: string): string | null {
    return this.#files.read(join(this.#folder, name));
  }
}

const DEFAULT_PERIOD = 3;

/** The highest bit of a mask up to `target`, else the lowest above it. */
function pickBit(mask: number, target: number): number {
  const bits = Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => ((mask >>> bit) & 1) === 1);
  return bits.findLast((bit) => bit <= target) ?? bits[0] ?? 0;
}
