/** The real packages: what they run is counted, and their types are those that are asked for here. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { countMitata, countTinybench, type MitataModule, type TinybenchBench } from './index.ts';

type Task = () => unknown;
interface Bench extends TinybenchBench {
  add(name: string, fn: Task): Bench;
  run(): Promise<unknown>;
  runSync(): unknown;
}
interface Mitata extends MitataModule {
  bench(name: string, fn: unknown): { args(name: string, values: readonly number[]): unknown };
  group(name: string, fn: () => void): void;
  run(options: object): Promise<{ benchmarks: { runs: { name: string; stats: { avg: number } }[] }[] }>;
}

afterEach(() => assert.deepEqual(liveHandles(), []));

const ROOT = fileURLToPath(new URL('../../../../../..', import.meta.url));
const PAGE_BYTES = 4096;

/** By a name that the compiler does not follow: who has not installed the packages can still build. */
async function installed<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

function missing(): string | false {
  const { resolve } = createRequire(import.meta.url);
  for (const name of ['tinybench', 'mitata']) {
    try {
      resolve(name);
    } catch {
      return `${name} is not installed: npm ci`;
    }
  }
  return false;
}
const skip = missing();

/** A page fault for each page, and then nothing is left of it. */
function fault(pages: number): void {
  const memory = realSys.mapAnonymous(pages * PAGE_BYTES);
  const bytes = new Uint8Array(memory.buffer);
  for (let page = 0; page < pages; page++) bytes[page * PAGE_BYTES] = 1;
  memory.close();
}

/** Faults of the package's own loop, and of the heap, in a run: more of them for each call where few fit. */
const FAULTS_OF_THE_RUN = 60;

/** The package's own loop, which is taken off, has a fault now and then. */
const isNear = (count: number | null | undefined, expected: number, calls = Infinity) =>
  typeof count === 'number' && count > expected - 0.7 && count < expected + 2 + FAULTS_OF_THE_RUN / calls;

const QUICK = { time: 20, warmupTime: 5 };

describe('tinybench', { skip }, () => {
  for (const way of ['run', 'runSync'] as const)
    test(`the counts of one call, by ${way}`, async () => {
      const { Bench } = await installed<{ Bench: new (options: object) => Bench }>('tinybench');
      const bench = new Bench(QUICK);
      using counts = countTinybench(bench, ['page-faults', 'task-clock']);
      bench.add('nothing', () => {}).add('faults', () => fault(40));
      await bench[way]();
      const [nothing, faults] = await counts.benchmarks();
      assert.equal(nothing!.name, 'nothing');
      assert.ok(nothing!.calls > 1000 && nothing!.counts['page-faults']! < 0.5, JSON.stringify(nothing));
      assert.ok(faults!.calls > 10, JSON.stringify(faults));
      assert.ok(isNear(faults!.counts['page-faults'], 40, faults!.calls), JSON.stringify(faults));
      assert.ok(faults!.counts['task-clock']! > 1000, JSON.stringify(faults));
    });

  test('hooks of the caller are still called, and an asynchronous one is waited for', async () => {
    const { Bench } = await installed<{ Bench: new (options: object) => Bench }>('tinybench');
    const order: string[] = [];
    const bench = new Bench({
      iterations: 200,
      time: 0,
      warmup: false,
      setup: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        fault(2000);
        order.push('setup');
      },
      teardown: () => {
        fault(2000);
        order.push('teardown');
      },
    });
    using counts = countTinybench(bench, 'page-faults');
    bench.add('one', () => void (order.at(-1) === 'setup' && order.push('task')));
    await bench.run();
    assert.deepEqual(order, ['setup', 'task', 'teardown']);
    // 4000 are in the hooks.
    const [one] = await counts.benchmarks();
    const faults = one!.calls * one!.counts['page-faults']!;
    assert.ok(faults < 1500, `${faults} faults`);
  });

  test('a task that fails is not in the answer, and the next one is', async () => {
    const { Bench } = await installed<{ Bench: new (options: object) => Bench }>('tinybench');
    const bench = new Bench({ ...QUICK, warmup: false });
    using counts = countTinybench(bench, 'page-faults');
    bench.add('fails', () => assert.fail('as it should')).add('faults', () => fault(7));
    await bench.run();
    const rows = await counts.table();
    assert.deepEqual(
      rows.map(({ benchmark }) => benchmark),
      ['faults'],
    );
    assert.ok(isNear(rows[0]!['page-faults'] as number, 7), JSON.stringify(rows));
  });

  test('after close() the bench is as it was', async () => {
    const { Bench } = await installed<{ Bench: new (options: object) => Bench }>('tinybench');
    const bench = new Bench(QUICK);
    const before = { setup: bench.setup, teardown: bench.teardown, runSync: bench.runSync };
    countTinybench(bench, 'page-faults').close();
    assert.deepEqual({ setup: bench.setup, teardown: bench.teardown, runSync: bench.runSync }, before);
    bench.add('one', () => {});
    await bench.run();
  });

  test('tasks that run at the same time are refused', async () => {
    const { Bench } = await installed<{ Bench: new (options: object) => Bench }>('tinybench');
    const bench = new Bench({ ...QUICK, warmup: false, concurrency: 'bench' });
    using _ = countTinybench(bench, 'page-faults');
    bench.add('one', () => {});
    await assert.rejects(bench.run(), { code: 'ERR_ARGUMENT', message: /cannot be counted apart/ });
    assert.throws(() => countTinybench({} as TinybenchBench), { message: /should be a Bench of tinybench/ });
  });
});

describe('mitata', { skip }, () => {
  test('each kind of benchmark, with arguments and in groups, and its times stay mitata’s', async () => {
    const mitata = await installed<Mitata>('mitata');
    using counts = countMitata(mitata, ['page-faults', 'task-clock']);
    mitata.bench('function', () => fault(5));
    mitata.group('group', () => {
      mitata
        .bench('generator $n', function* (state: { get(name: string): number }) {
          const pages = state.get('n');
          yield () => fault(pages);
        })
        .args('n', [3, 30]);
    });
    mitata.bench('state', (state: Iterable<unknown>) => {
      for (const _ of state) fault(9);
    });
    mitata.bench('async', async () => {
      await null;
      fault(11);
    });
    mitata.bench('fails', () => assert.fail('as it should'));
    const { benchmarks } = await mitata.run({ format: 'quiet' });
    const answer = await counts.benchmarks();
    assert.deepEqual(
      answer.map(({ name }) => name),
      ['function', 'generator 3', 'generator 30', 'state', 'async'],
    );
    for (const [i, pages] of [5, 3, 30, 9, 11].entries())
      assert.ok(isNear(answer[i]!.counts['page-faults'], pages, answer[i]!.calls), JSON.stringify(answer[i]));
    assert.ok(benchmarks[0]!.runs[0]!.stats.avg > 1000);
    assert.deepEqual(counts.notes, []);
  });

  test('after close() nothing is counted', async () => {
    const mitata = await installed<Mitata>('mitata');
    const { run } = mitata.B.prototype;
    const counts = countMitata(mitata, 'page-faults');
    assert.notEqual(mitata.B.prototype.run, run);
    counts.close();
    assert.equal(mitata.B.prototype.run, run);
    assert.throws(() => countMitata({} as MitataModule), { message: /functions B and measure of mitata/ });
  });
});

test('what the packages declare is what is asked for', { skip }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-benchmarks-'));
  t.after(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'use.ts'),
    `import { Bench } from 'tinybench';
import * as mitata from 'mitata';
import { countMitata, countTinybench } from '${join(ROOT, 'packages/node/src/linux/count/benchmarks/index.ts')}';
countTinybench(new Bench(), 'page-faults');
countMitata(mitata);
countMitata({ B: mitata.B, measure: mitata.measure });
`,
  );
  const flags = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    ...['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2024,esnext.disposable,dom'],
    ...['--types', 'node', '--allowImportingTsExtensions', '--customConditions', 'counterpoint-source'],
  ];
  const { status, stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), [...flags, 'use.ts'], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
});
