/**
 * What `--itrace=` asks of a trace: letters as perf has them, in any order, `,` and
 * spaces between them as one likes.
 *
 *   i100us   instructions, a sample each 100 microseconds (i: instructions, t: ticks of the TSC, ms us ns; default 100000 ns)
 *   y        cycles, likewise
 *   b c r    branches: all, calls, returns            x w p o I   transactions, ptwrite, power, PEBS, event trace
 *   e[+-ol]  errors                                   g16 l64     call chains, last branches (G, L: on recorded samples)
 *   s1000    skip the first so many samples           q qq        less detail, faster
 *   A        cycles where the time moves              Z           without times
 *   d[+-aeo] a log of decoding: records of the kernel, only around errors, to the output
 */
import { CounterpointError, checkArgument } from '@counterpoint/core/base';

/** What a period is counted in: instructions, ticks of the TSC, or nanoseconds. */
export type PeriodUnit = 'instructions' | 'ticks' | 'ns';

/** Which part of decoding is written down, as the flags behind `d` say. */
export interface DecodingLogOptions {
  /** Records of the kernel, too. */
  readonly records: boolean;
  /** Only what comes before an error. */
  readonly onlyErrors: boolean;
  /** Where the samples go, not to a file. */
  readonly toOutput: boolean;
}

/** What is made out of a trace. Each field says which letter of `--itrace` sets it. */
export interface ItraceOptions {
  /** `i`: a sample of event `instructions` each period. */
  instructions: boolean;
  /** `y`: a sample of event `cycles` each period. Needs CYC packets, or times, to know them. */
  cycles: boolean;
  /** Of instructions and cycles, in `periodUnit`. 0: as often as there can be a sample. */
  period: number;
  /** Default: nanoseconds. */
  periodUnit: PeriodUnit;
  /** `b`, `c` or `r`: a sample of event `branches` for each branch taken. */
  branches: boolean;
  /** `c`: of the branches only calls. With `returns` both; without either, all branches. */
  calls: boolean;
  /** `r`: of the branches only returns. */
  returns: boolean;
  /**
   * A sample of event `calls` behind each call, return and interrupt, where it leads, with the whole call
   * chain there. No letter: perf has none for it.
   */
  callSteps: boolean;
  /** `x`: a sample where a TSX transaction begins, commits or aborts. */
  transactions: boolean;
  /** `w`: a sample for each PTWRITE, with the value written in its raw data. */
  ptwrites: boolean;
  /** `p`: a sample for each packet of power and frequency: CBR, MWAIT, PWRE, EXSTOP, PWRX; and for PSB. */
  power: boolean;
  /** `o`: the samples of other events that went through the trace (PEBS via PT). */
  other: boolean;
  /** `I`: interrupts, faults and the like, where event trace was recorded. */
  eventTrace: boolean;
  /** `e`: a `PERF_RECORD_AUXTRACE_ERROR` for each place that could not be decoded. */
  errors: boolean;
  /** `e-o`: no such record for an overflow. It is counted all the same. */
  withoutOverflows: boolean;
  /** `e-l`: no such record for trace data that the kernel lost; the ledger of the recording has it anyway. */
  withoutLost: boolean;
  /** `g`: most callers on a sample that is made, up to 1024. 0: no call chains. */
  callChain: number;
  /** `G`: most callers on a recorded sample that has no call chain of its own. 0: none. */
  recordedCallChain: number;
  /** `l`: most branches in the branch stack of a sample that is made, up to 1024. 0: none. */
  lastBranches: number;
  /** `L`: most branches in the stack of a recorded sample that has none of its own. 0: none. */
  recordedLastBranches: number;
  /** `s`: how many samples are left out at the beginning. */
  skip: number;
  /**
   * `q`: how much is left out for speed. 1: packets are read, code is not followed. 2: only where
   * tracing synchronises (PSB).
   */
  quick: number;
  /** `A`: cycles are told wherever their count moves, not only where it is exact. */
  approximateIpc: boolean;
  /** `Z`: samples have no time, and the trace of each CPU or thread comes as a whole, behind the records. */
  timeless: boolean;
  /** `d`: write down what is decoded. Null: no log. */
  log: Readonly<DecodingLogOptions> | null;
}

const DEFAULT_PERIOD_NS = 100_000;
const DEFAULT_CHAIN = 16;
const DEFAULT_BRANCHES = 64;
const MOST_FRAMES = 1024;

/** Nothing is made out of a trace: set what you want on a copy, `{ ...NO_ITRACE, instructions: true }`. */
export const NO_ITRACE: Readonly<ItraceOptions> = {
  instructions: false,
  cycles: false,
  period: DEFAULT_PERIOD_NS,
  periodUnit: 'ns',
  branches: false,
  calls: false,
  returns: false,
  callSteps: false,
  transactions: false,
  ptwrites: false,
  power: false,
  other: false,
  eventTrace: false,
  errors: false,
  withoutOverflows: false,
  withoutLost: false,
  callChain: 0,
  recordedCallChain: 0,
  lastBranches: 0,
  recordedLastBranches: 0,
  skip: 0,
  quick: 0,
  approximateIpc: false,
  timeless: false,
  log: null,
};

/** What perf's `script` shows of a trace where nothing is chosen: calls, errors and other events. */
export const SCRIPT_ITRACE = 'cepwxoI';
/**
 * What perf's `report` shows of a trace where nothing is chosen: instructions with call chains, and events.
 */
export const REPORT_ITRACE = 'igGxwpoeI';

/** Why a letter that perf knows is not for this. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...[...'fmtaMT'].map((letter): [string, string] => [letter, 'for the traces of Arm SPE and CoreSight']),
]);

/** Parse the value of `--itrace`. Throws `ERR_ITRACE_SYNTAX`, pointing at the place. */
export function parseItrace(text: string): ItraceOptions {
  checkArgument(typeof text === 'string', 'parseItrace()', 'the options', text, 'text such as i1us');
  return new Parser(text).parse();
}

class Parser {
  readonly #text: string;
  readonly #options: ItraceOptions = { ...NO_ITRACE };
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): ItraceOptions {
    const text = this.#text;
    while (this.#at < text.length) {
      const from = this.#at;
      this.#letter(text[this.#at++]!, from);
    }
    return this.#options;
  }

  #letter(letter: string, from: number): void {
    const options = this.#options;
    switch (letter) {
      case ' ':
      case ',':
        return;
      case 'i':
        options.instructions = true;
        this.#period();
        return;
      case 'y':
        options.cycles = true;
        this.#period();
        return;
      case 'b':
        options.branches = true;
        return;
      case 'c':
        options.branches = true;
        options.calls = true;
        return;
      case 'r':
        options.branches = true;
        options.returns = true;
        return;
      case 'x':
        options.transactions = true;
        return;
      case 'w':
        options.ptwrites = true;
        return;
      case 'p':
        options.power = true;
        return;
      case 'o':
        options.other = true;
        return;
      case 'I':
        options.eventTrace = true;
        return;
      case 'e':
        options.errors = true;
        this.#errorFlags();
        return;
      case 'd':
        options.log = this.#logFlags();
        return;
      case 'g':
        options.callChain = this.#depth(DEFAULT_CHAIN);
        return;
      case 'G':
        options.recordedCallChain = this.#depth(DEFAULT_CHAIN);
        return;
      case 'l':
        options.lastBranches = this.#depth(DEFAULT_BRANCHES);
        return;
      case 'L':
        options.recordedLastBranches = this.#depth(DEFAULT_BRANCHES);
        return;
      case 's': {
        const count = this.#number();
        if (count === null)
          throw this.#error(this.#at, 'the number of samples to skip is missing, such as s1000');
        options.skip = count;
        return;
      }
      case 'q':
        options.quick = Math.min(2, options.quick + 1);
        return;
      case 'A':
        options.approximateIpc = true;
        return;
      case 'Z':
        options.timeless = true;
        return;
      default: {
        const why = REFUSED.get(letter);
        if (why !== undefined) throw this.#error(from, `'${letter}' is not supported here: ${why}`);
        throw this.#error(from, `there is no letter '${letter}'`);
      }
    }
  }

  #period(): void {
    const options = this.#options;
    const text = this.#text;
    const from = this.#at;
    this.#skipSeparators();
    const period = this.#number();
    if (period === null) {
      this.#at = from;
      return;
    }
    options.period = period;
    this.#skipSeparators();
    const unit = /^(?:ms|us|ns|i|t)/.exec(text.slice(this.#at))?.[0];
    if (unit === undefined) {
      if (this.#at < text.length) throw this.#error(this.#at, 'the unit of a period is i, t, ms, us or ns');
      return;
    }
    this.#at += unit.length;
    if (unit === 'i') options.periodUnit = 'instructions';
    else if (unit === 't') options.periodUnit = 'ticks';
    else {
      options.periodUnit = 'ns';
      options.period = period * (unit === 'ms' ? 1_000_000 : unit === 'us' ? 1000 : 1);
    }
  }

  #errorFlags(): void {
    const options = this.#options;
    const text = this.#text;
    for (let sign = text[this.#at]; sign === '+' || sign === '-'; sign = text[this.#at]) {
      const flag = text[this.#at + 1];
      if (flag === 'o') options.withoutOverflows = sign === '-';
      else if (flag === 'l') options.withoutLost = sign === '-';
      else throw this.#error(this.#at + 1, 'choose errors with o (overflows) and l (lost data)');
      this.#at += 2;
    }
  }

  #logFlags(): DecodingLogOptions {
    const text = this.#text;
    const flags = { a: true, e: false, o: false };
    for (let sign = text[this.#at]; sign === '+' || sign === '-'; sign = text[this.#at]) {
      const flag = text[this.#at + 1];
      if (flag !== 'a' && flag !== 'e' && flag !== 'o')
        throw this.#error(
          this.#at + 1,
          'choose parts of the log with a (records of the kernel), e (only around errors), o (to the output)',
        );
      flags[flag] = sign === '+';
      this.#at += 2;
    }
    return { records: flags.a, onlyErrors: flags.e, toOutput: flags.o };
  }

  #depth(otherwise: number): number {
    const from = this.#at;
    this.#skipSeparators();
    const place = this.#at;
    const depth = this.#number();
    if (depth === null) {
      this.#at = from;
      return otherwise;
    }
    if (depth === 0 || depth > MOST_FRAMES) throw this.#error(place, `a number from 1 to ${MOST_FRAMES}`);
    return depth;
  }

  #number(): number | null {
    const digits = /^[0-9]+/.exec(this.#text.slice(this.#at))?.[0];
    if (digits === undefined) return null;
    const value = Number(digits);
    if (!Number.isSafeInteger(value)) throw this.#error(this.#at, 'this number is too large');
    this.#at += digits.length;
    return value;
  }

  #skipSeparators(): void {
    while (this.#text[this.#at] === ' ' || this.#text[this.#at] === ',') this.#at++;
  }

  #error(at: number, reason: string): CounterpointError {
    const label = 'itrace syntax error: ';
    const shown = this.#text.replace(/[\x00-\x1f\x7f]/g, ' ');
    return new CounterpointError(
      'ERR_ITRACE_SYNTAX',
      `${label}'${shown}'\n${' '.repeat(label.length + 1 + at)}\\___ ${reason}`,
      'Letters: i y b c r x w p o I e d g G l L s q A Z; `--itrace=i100us` is a sample every 100 microseconds, `--itrace=cr` is calls and returns.',
    );
  }
}
