import { formatSeconds } from '../../base/index.ts';
import type { ScriptOptions } from './script-options.ts';

/** Times as asked for: those that were recorded, since the first line, or since the line before. */
export class ShownTimes {
  readonly #kind: NonNullable<ScriptOptions['times']>;
  readonly #digits: 6 | 9;
  /** What times are told from; null before the first line. */
  #before: bigint | null = null;

  constructor({ times = 'absolute', nanoseconds = false }: Pick<ScriptOptions, 'times' | 'nanoseconds'>) {
    this.#kind = times;
    this.#digits = nanoseconds ? 9 : 6;
  }

  /** It is the same whatever is printed before. */
  get isAbsolute(): boolean {
    return this.#kind === 'absolute';
  }

  /** The text of the next line's time, as wide as perf has it. */
  next(timeLo: number, timeHi: number): string {
    if (this.isAbsolute) return this.#text(timeLo, timeHi);
    const now = (BigInt(timeHi) << 32n) | BigInt(timeLo);
    const since = now - (this.#before ?? now);
    if (this.#kind === 'differences' || this.#before === null) this.#before = now;
    return this.#text(Number(since & 0xffff_ffffn), Number((since >> 32n) & 0xffff_ffffn));
  }

  #text(lo: number, hi: number): string {
    return formatSeconds(lo, hi, this.#digits).padStart(6 + this.#digits);
  }
}
