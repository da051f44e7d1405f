import { CounterpointError } from '@counterpoint/core/base';
import { ANYTHING, checkOptions, required } from '../../../host/options/index.ts';
import { requireLinux } from '../../kernel/sys/index.ts';
import { type BenchmarkCounts, type CountedBenchmark, tableOf } from './counted.ts';
import { RunCounter } from './run-counter.ts';

interface Task {
  /** Its name. */
  readonly name: string;
  /** How often it was called. */
  readonly runs: number;
}

/** What is used of a `Bench` of tinybench. */
export interface TinybenchBench {
  /** Called before a task runs, and before it warms up. */
  setup: (task: never, mode: never) => unknown;
  /** Called when it has run. */
  teardown: (task: never, mode: never) => unknown;
  /** Which calls run at the same time. */
  concurrency?: 'bench' | 'task' | null;
  /** Listens to the end of a task. */
  addEventListener(type: 'cycle', listener: (event: { readonly task?: unknown }) => void): void;
  /** Stops to listen. */
  removeEventListener(type: 'cycle', listener: (event: { readonly task?: unknown }) => void): void;
}

type TinybenchHook = TinybenchBench['setup'];

type Hook = (task: Task, mode: 'run' | 'warmup') => unknown;

/** What the empty benchmark needs, too. */
interface EmptyBench extends TinybenchBench {
  add(name: string, fn: () => void): unknown;
  run(): Promise<unknown>;
  runSync?(): unknown;
}

interface RawCounts {
  name: string;
  calls: number;
  perCall: (number | null)[];
  isSync: boolean;
}

const EMPTY_ROUNDS = 4;
const EMPTY_OPTIONS = { time: 20, iterations: 1000, warmup: true, warmupTime: 10, warmupIterations: 1000 };

/**
 * Count events of this thread while the tasks of a tinybench `Bench` run. The counts of a task are those
 * between `setup` and `teardown`, with its `beforeEach` and `afterEach`, divided by the number of calls.
 * What an empty task counts is taken off. Default events: instructions, cycles, branch-misses, cache-misses,
 * task-clock, page-faults and context-switches, or the last three on machines without hardware counters.
 * Throws CounterpointError, as `counters()` does.
 */
export function countTinybench(bench: TinybenchBench, events?: string | readonly string[]): BenchmarkCounts {
  requireLinux('countTinybench()');
  checkOptions('countTinybench()', { bench }, { bench: required(BENCH) });
  return new TinybenchCounts(bench, new RunCounter(events));
}

const BENCH = {
  ...ANYTHING,
  expects: 'a Bench of tinybench',
  accepts: (value: unknown) => {
    const { setup, teardown, addEventListener } = (value ?? {}) as Partial<TinybenchBench>;
    return [setup, teardown, addEventListener].every((member) => typeof member === 'function');
  },
};

class TinybenchCounts implements BenchmarkCounts {
  readonly #bench: TinybenchBench;
  readonly #counter: RunCounter;
  readonly #undo: (() => void)[] = [];
  readonly #raw: RawCounts[] = [];
  /** What an empty task counts, called by `run` and by `runSync`. */
  readonly #empty = new Map<boolean, readonly number[]>();
  #isSync = false;
  /** Of the task that has ended last. */
  #ended: { task: Task; isSync: boolean } | null = null;

  constructor(bench: TinybenchBench, counter: RunCounter) {
    this.#bench = bench;
    this.#counter = counter;
    this.#wrap();
  }

  get notes(): readonly string[] {
    return this.#counter.notes;
  }

  async benchmarks(): Promise<CountedBenchmark[]> {
    const all: CountedBenchmark[] = [];
    for (const { name, calls, perCall, isSync } of this.#raw) {
      const empty = await this.#emptyTask(isSync);
      const own = perCall.map((count, i) => (count === null ? null : Math.max(0, count - empty[i]!)));
      const counts = Object.fromEntries(this.#counter.names.map((event, i) => [event, own[i]!]));
      all.push({ name, calls, counts });
    }
    return all;
  }

  async table(): Promise<Record<string, string | number>[]> {
    return tableOf(await this.benchmarks());
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#counter.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #wrap(): void {
    const bench = this.#bench as TinybenchBench & { runSync?: (() => unknown) | undefined };
    const { setup, teardown } = bench;
    bench.setup = around(setup, (task, mode, hook) => {
      const result = hook(task, mode);
      if (mode !== 'run') return result;
      return isThenable(result) ? result.then(() => this.#begin()) : this.#begin();
    });
    bench.teardown = around(teardown, (task, mode, hook) => {
      if (mode === 'run') this.#end(task);
      return hook(task, mode);
    });
    this.#undo.push(() => Object.assign(bench, { setup, teardown }));
    const listener = ({ task }: { readonly task?: unknown }) => this.#keep(task);
    bench.addEventListener('cycle', listener);
    this.#undo.push(() => bench.removeEventListener('cycle', listener));
    // How its loop calls the function decides what an empty one costs.
    const { runSync } = bench;
    if (runSync === undefined) return;
    bench.runSync = () => {
      this.#isSync = true;
      try {
        return runSync.call(bench);
      } finally {
        this.#isSync = false;
      }
    };
    this.#undo.push(() => Reflect.deleteProperty(bench, 'runSync'));
  }

  #begin(): void {
    if (this.#bench.concurrency === 'bench')
      throw new CounterpointError(
        'ERR_ARGUMENT',
        "tasks that run at the same time (concurrency: 'bench') cannot be counted apart",
        'Leave out concurrency, or count the whole run with measure().',
      );
    this.#ended = null;
    this.#counter.reset();
    this.#counter.start();
  }

  #end(task: Task): void {
    this.#counter.stop();
    this.#ended = { task, isSync: this.#isSync };
  }

  /** Its number of calls is known now, after `teardown`. A task that failed has none. */
  #keep(task: unknown): void {
    const ended = this.#ended;
    if (ended === null || ended.task !== task || ended.task.runs === 0) return;
    const { name, runs } = ended.task;
    this.#raw.push({ name, calls: runs, perCall: this.#counter.perCall(runs), isSync: ended.isSync });
  }

  async #emptyTask(isSync: boolean): Promise<readonly number[]> {
    const known = this.#empty.get(isSync);
    if (known !== undefined) return known;
    const least = this.#counter.names.map(() => Number.POSITIVE_INFINITY);
    for (let round = 0; round < EMPTY_ROUNDS; round++) {
      for (const [i, count] of (await this.#emptyRound(isSync)).entries())
        least[i] = Math.min(least[i]!, count ?? 0);
    }
    this.#empty.set(isSync, least);
    return least;
  }

  async #emptyRound(isSync: boolean): Promise<(number | null)[]> {
    const Bench = this.#bench.constructor as new (options: object) => EmptyBench;
    const bench = new Bench({ ...EMPTY_OPTIONS, concurrency: this.#bench.concurrency ?? null });
    const counter = this.#counter;
    let ended: (number | null)[] = [];
    bench.setup = around(bench.setup, (_, mode) => {
      if (mode !== 'run') return;
      counter.reset();
      counter.start();
    });
    bench.teardown = around(bench.teardown, (_, mode) => {
      if (mode === 'run') counter.stop();
    });
    bench.addEventListener('cycle', ({ task }) => {
      ended = counter.perCall((task as Task).runs);
    });
    bench.add('empty', () => {});
    if (isSync) bench.runSync?.();
    else await bench.run();
    return ended;
  }
}

/** A hook in the place of another, which it may call. */
function around(
  hook: TinybenchHook,
  instead: (task: Task, mode: 'run' | 'warmup', hook: Hook) => unknown,
): TinybenchHook {
  const made: Hook = function (this: unknown, task, mode) {
    return instead(task, mode, (...args) => (hook as Hook).apply(this, args));
  };
  return made as TinybenchHook;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
