import { ANYTHING, checkOptions, required } from '../../../host/options/index.ts';
import { requireLinux } from '../../kernel/sys/index.ts';
import { type BenchmarkCounts, type CountedBenchmark, tableOf } from './counted.ts';
import { countIterations } from './mitata-iterations.ts';
import { RunCounter } from './run-counter.ts';

/** What is used of the package mitata. */
export interface MitataModule {
  /** The class of its benchmarks. */
  B: {
    readonly prototype: {
      /** Runs it, once for each combination of arguments. */
      run(shouldThrow?: boolean): Promise<{
        runs: readonly {
          readonly name: string;
          readonly args: Record<string, unknown>;
          readonly error?: unknown;
        }[];
      }>;
    };
  };
  /** Runs a function again and again. */
  measure(fn: () => unknown, options?: object): Promise<unknown>;
}

/** How long the second pass takes at least. */
const PASS_MS = 100;
const NS_PER_MS = 1e6;

/**
 * Count events of this thread for each benchmark of mitata that runs from now on. Times are its own: when
 * they are measured, the function runs once more for a tenth of a second, or twelve times if that takes
 * longer, and this is counted. Counts are those of one iteration. Default events: as of `countTinybench()`.
 * Throws CounterpointError, as `counters()` does.
 */
export function countMitata(mitata: MitataModule, events?: string | readonly string[]): BenchmarkCounts {
  requireLinux('countMitata()');
  checkOptions('countMitata()', { mitata }, { mitata: required(MITATA) });
  return new MitataCounts(mitata, new RunCounter(events));
}

const MITATA = {
  ...ANYTHING,
  expects: 'the functions B and measure of mitata, { B, measure }',
  accepts: (value: unknown) => {
    const { B, measure } = (value ?? {}) as Partial<MitataModule>;
    return typeof measure === 'function' && typeof B?.prototype?.run === 'function';
  },
};

type Run = Awaited<ReturnType<MitataModule['B']['prototype']['run']>>['runs'][number];

type Benchmark = { readonly f?: unknown };

class MitataCounts implements BenchmarkCounts {
  readonly #mitata: MitataModule;
  readonly #counter: RunCounter;
  readonly #benchmarks: CountedBenchmark[] = [];
  readonly #undo: () => void;

  constructor(mitata: MitataModule, counter: RunCounter) {
    this.#mitata = mitata;
    this.#counter = counter;
    const { prototype } = mitata.B;
    const { run } = prototype;
    const counts = this;
    prototype.run = async function (this: Benchmark, shouldThrow?: boolean) {
      const trial = await run.call(this as typeof prototype, shouldThrow);
      for (const one of trial.runs) if (one.error === undefined) await counts.#count(this.f, one);
      return trial;
    };
    this.#undo = () => {
      prototype.run = run;
    };
  }

  get notes(): readonly string[] {
    return this.#counter.notes;
  }

  async benchmarks(): Promise<CountedBenchmark[]> {
    return [...this.#benchmarks];
  }

  async table(): Promise<Record<string, string | number>[]> {
    return tableOf(this.#benchmarks);
  }

  close(): void {
    this.#undo();
    this.#counter.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #count(fn: unknown, { name, args }: Run): Promise<void> {
    this.#counter.reset();
    let calls = 0;
    try {
      calls = await this.#pass(fn, args);
    } catch (error) {
      this.#note(name, error instanceof Error ? error.message : String(error));
      return;
    }
    if (calls === 0) {
      this.#note(name, 'this version of mitata does not call counters');
      return;
    }
    const perCall = this.#counter.perCall(calls);
    const counts = Object.fromEntries(this.#counter.names.map((event, i) => [event, perCall[i]!]));
    this.#benchmarks.push({ name, calls, counts });
  }

  #note(name: string, why: string): void {
    this.#counter.notes.push(`${name} is not counted: ${why}`);
  }

  /** How many iterations were counted. */
  async #pass(fn: unknown, args: Record<string, unknown>): Promise<number> {
    if (typeof fn !== 'function') return 0;
    if (isIterator(fn)) return await countIterations(this.#counter, fn, args, PASS_MS);
    let calls = 0;
    // As the package of counters has it that mitata looks for.
    const $counters = {
      init: () => {},
      before: () => this.#counter.start(),
      after: () => this.#counter.stop(),
      translate: (batch: number, samples: number) => {
        calls = batch * samples;
        return {};
      },
      deinit: () => {},
    };
    await this.#mitata.measure(fn as () => unknown, {
      args,
      $counters,
      gc: false,
      min_cpu_time: PASS_MS * NS_PER_MS,
    });
    return calls;
  }
}

type StateFunction = (state: unknown) => unknown;

/** As mitata tells them apart: it takes its state, and is no generator. */
function isIterator(fn: object): fn is StateFunction {
  const name = Object.getPrototypeOf(fn)?.constructor?.name as string;
  return (fn as StateFunction).length > 0 && !name.includes('Generator');
}
