import { join } from 'node:path';
import type { KernelFiles } from '../probe/index.ts';

/** Where the kernel says what PMUs there are. */
export const PMU_FOLDERS = '/sys/bus/event_source/devices';

/** What a PMU of a machine can do, from its folder in sysfs. */
export class PmuFacts {
  readonly #files: KernelFiles;
  readonly #folder: string;
  readonly #usual: Readonly<Record<string, readonly [low: number, high: number]>>;

  /** `usual`: bits of terms where sysfs does not say. */
  constructor(
    files: KernelFiles,
    folder: string,
    usual: Readonly<Record<string, readonly [low: number, high: number]>> = {},
  ) {
    this.#files = files;
    this.#folder = folder;
    this.#usual = usual;
  }

  /** Whether the machine has it. */
  get isPresent(): boolean {
    return this.read('type') !== null;
  }

  /** `caps/NAME` as a number; null: sysfs does not say. `base` 16 for masks. */
  capability(name: string, base: 10 | 16 = 10): number | null {
    const text = this.read(`caps/${name}`);
    const value = text === null ? Number.NaN : Number.parseInt(text, base);
    return Number.isNaN(value) ? null : value;
  }

  /** A file of the folder as a number, 0 if there is none. */
  number(name: string): number {
    const value = Number(this.read(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : 0;
  }

  /** The bits of `attr.config` that a term has. */
  bits(term: string): bigint {
    const text = this.read(`format/${term}`);
    const match = text === null ? null : /^config:(\d+)(?:-(\d+))?$/.exec(text.trim());
    const [low, high] =
      match === null ? (this.#usual[term] ?? [0, -1]) : [Number(match[1]), Number(match[2] ?? match[1])];
    return high < low ? 0n : ((1n << BigInt(high - low + 1)) - 1n) << BigInt(low);
  }

  /** Whether the driver knows a term. */
  hasTerm(term: string): boolean {
    return this.read(`format/${term}`) !== null;
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

  /** A file of the folder as text; null: there is none. */
  read(name: string): string | null {
    return this.#files.read(join(this.#folder, name));
  }

  /** The names in the folder, or in one inside it. */
  names(folder = ''): string[] {
    return this.#files.list(join(this.#folder, folder));
  }
}
