/**
 * Times of a trace for people and programs: TSC ticks, and nanoseconds where it is known how long a tick is.
 */
import type { PerfClock, TimeSettings } from '@counterpoint/trace/intel-pt';
import { formatDuration } from '../../common/human.ts';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';
import { DecimalText, lastThreeDigits } from './decimal-text.ts';
import { unsigned } from './settings.ts';

export type PtClockName = 'time-zero' | 'time-shift' | 'time-mult';

const GROUP = "perf's clock";
const U64 = 0xffff_ffff_ffff_ffffn;

export const PT_CLOCK_OPTIONS: readonly OptionRow<PtClockName>[] = [
  {
    long: 'time-mult',
    value: 'N',
    help: 'perf_event_mmap_page.time_mult; with it, times are in nanoseconds',
    group: GROUP,
  },
  { long: 'time-shift', value: 'N', help: '….time_shift', group: GROUP },
  { long: 'time-zero', value: 'N', help: '….time_zero', group: GROUP },
];

export function perfClock<Name extends string>(
  args: ParsedArguments<Name | PtClockName>,
): PerfClock | undefined {
  if (args.string('time-mult') === undefined) {
    for (const name of ['time-shift', 'time-zero'] as const)
      if (args.string(name) !== undefined)
        throw new UsageError(
          `${args.shown(name)} has no effect without --time-mult`,
          "Give --time-mult, --time-shift and --time-zero, as the recording's mmap page has them.",
        );
    return undefined;
  }
  const timeMult = Number(unsigned<Name | PtClockName>(args, 'time-mult', 0xffff_ffffn));
  if (timeMult === 0)
    throw args.refuse('time-mult', 'a number from 1 to 4294967295 (with 0, time would not advance)');
  return {
    timeMult,
    timeShift: Number(unsigned<Name | PtClockName>(args, 'time-shift', 63n)),
    timeZero: unsigned<Name | PtClockName>(args, 'time-zero', U64),
  };
}

/** A time that the command line names. */
export interface TraceTime {
  /** As an option and its value, for messages. */
  readonly shown: string;
  /** Counts from the beginning of the trace; else it is a TSC. */
  readonly isSinceStart: boolean;
  /** Ticks since the beginning of the trace, whose TSC only the trace knows. */
  ticks(baseTsc: bigint): number;
}

/** The TSC runs at the nominal ratio of a bus of 100 MHz. */
const NS_A_BUS_CYCLE = 10;

export class TimeScale {
  readonly clock: PerfClock | undefined;
  /** NaN where it is not known. */
  readonly nsPerTick: number;
  readonly #decimal = new DecimalText();

  constructor(clock: PerfClock | undefined, settings: TimeSettings) {
    this.clock = clock;
    this.nsPerTick =
      clock !== undefined
        ? clock.timeMult / 2 ** clock.timeShift
        : settings.nomFreq > 0
          ? NS_A_BUS_CYCLE / settings.nomFreq
          : Number.NaN;
  }

  get isKnown(): boolean {
    return !Number.isNaN(this.nsPerTick);
  }

  /** `12.3 us`, or `430 ticks`; empty for no time. */
  duration(ticks: number): string {
    if (Number.isNaN(ticks)) return '';
    return this.isKnown ? formatDuration(ticks * this.nsPerTick) : `${ticks} ticks`;
  }

  /** A time since the beginning of the trace: microseconds with three digits, or ticks. */
  sinceStart(ticks: number): string {
    if (Number.isNaN(ticks)) return '';
    if (!this.isKnown) return this.#decimal.of(ticks);
    const ns = this.nsSinceStart(ticks);
    // Time that was set back to before the beginning.
    if (ns < 0) return (ns / 1000).toFixed(3);
    return `${this.#decimal.of(Math.floor(ns / 1000))}.${lastThreeDigits(ns)}`;
  }

  /** Whole nanoseconds; NaN where it is not known how long a tick is. */
  nsSinceStart(ticks: number): number {
    return Math.round(ticks * this.nsPerTick);
  }

  get startUnit(): string {
    return this.isKnown ? 'us' : 'ticks';
  }

  /** A time on the command line: `12.5ms` since the beginning of the trace, or a TSC. */
  parse(text: string, option: string): TraceTime {
    const shown = `${option} ${text}`;
    const since = /^([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s)$/.exec(text);
    if (since !== null) {
      if (!this.isKnown)
        throw new UsageError(
          `${shown}: the length of a TSC tick is not known`,
          'Give --nom-freq or --time-mult, or a TSC instead.',
        );
      const ns = Number(since[1]) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[since[2]!]!;
      return { shown, isSinceStart: true, ticks: () => ns / this.nsPerTick };
    }
    if (!/^(0x[0-9a-fA-F]{1,16}|[0-9]{1,19})$/.test(text))
      throw new UsageError(
        `${option} expects a time since the beginning of the trace (12.5ms) or a TSC, not '${text}'`,
      );
    const tsc = BigInt(text);
    return { shown, isSinceStart: false, ticks: (baseTsc) => Number(tsc - baseTsc) };
  }
}
