import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { isMainThread, parentPort } from 'node:worker_threads';
import { startWorker } from '../../../test/worker.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { counters, measure } from './index.ts';

// Cycles and instructions are exact here: the same work counts the same, to the instruction.

const USER_ACCESS = '/proc/sys/kernel/perf_user_access';

function spin(rounds: number): number {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum = (sum + i * i) | 0;
  return sum;
}

/** The value that comes most often, and its share. */
function mode(values: ArrayLike<number> & Iterable<number>): { value: number; share: number } {
  const times = new Map<number, number>();
  for (const value of values) times.set(value, (times.get(value) ?? 0) + 1);
  const [value, most] = [...times].reduce((best, one) => (one[1] > best[1] ? one : best));
  return { value, share: most / values.length };
}

if (isMainThread) tests();
else {
  using own = counters('instructions:u');
  const before = own.read().counts[0]!.value;
  spin(20_000);
  const after = own.read();
  parentPort!.postMessage({ spent: after.counts[0]!.value - before, source: after.source });
}

function tests(): void {
  writeFileSync(USER_ACCESS, '1');
  afterEach(() => assert.deepEqual(liveHandles(), []));

  test('events of the generic type, raw ones and the PMU’s own are all read in user space', () => {
    for (const event of [
      'instructions:u',
      'cycles',
      'r11',
      'armv8_pmuv3/event=0x8/u',
      'armv8_pmuv3/cpu_cycles,long=1/',
    ]) {
      using own = counters(event);
      const readings = [own.read(), own.read(), own.read()];
      assert.deepEqual(
        readings.map(({ source }) => source),
        ['page', 'page', 'page'],
        event,
      );
      assert.deepEqual(own.notes, []);
      const values = readings.map(({ counts }) => counts[0]!.value);
      assert.ok(values[0]! < values[1]! && values[1]! < values[2]!, `${event}: ${values}`);
      assert.equal(own.clock, 'perf');
    }
  });

  test('a page read and read(2) are one counter: what lies between them is the same instructions each time', () => {
    using own = counters('instructions:u');
    // The same event again, which is always read by the kernel.
    using kernel = counters('instructions:u', { access: 'read' });
    const out = new Float64Array(2);
    const turns = [own, kernel];
    const kept = 1000;
    const values = new Float64Array(kept);
    const sources: string[] = [];
    // Until the code is compiled, and stays as it is.
    for (let i = 0; i < 20 * kept; i++) {
      sources[i % kept] = turns[i & 1]!.readInto(out);
      values[i % kept] = out[1]!;
    }
    assert.deepEqual([...new Set(sources)].sort(), ['page', 'read']);
    const steps = (first: number) =>
      Array.from({ length: kept / 2 - 1 }, (_, k) => values[first + 2 * k + 2]! - values[first + 2 * k]!);
    const [pages, reads] = [mode(steps(0)), mode(steps(1))];
    assert.ok(pages.share > 0.9 && reads.share > 0.9, `${pages.share}, ${reads.share}`);
    // From page read to page read, and from read(2) to read(2), the same is done: one of each.
    assert.equal(pages.value, reads.value);
  });

  test('read() by the page and by the kernel give the same of a whole loop', () => {
    using own = counters(['instructions:u', 'cycles:u']);
    using kernel = counters(['instructions:u', 'cycles:u'], { access: 'read' });
    spin(100_000);
    const loop = () => {
      const before = [own.read(), kernel.read()];
      spin(100_000);
      const after = [kernel.read(), own.read()].reverse();
      return before.map(({ counts }, i) => after[i]!.counts[0]!.value - counts[0]!.value);
    };
    loop();
    const [inside, outside] = loop();
    assert.ok(inside! - outside! >= 0n && inside! - outside! < 20_000n, `${inside} around ${outside}`);
  });

  test('measure: nothing is 0, the same is the same, twice as much is twice as much', () => {
    const of = (rounds: number) =>
      Number(measure(() => spin(rounds), 'instructions:u').counts['instructions:u']);
    const often = (rounds: number) => mode(Array.from({ length: 24 }, () => of(rounds)).slice(12));
    for (let i = 0; i < 5; i++) often(3000);
    const [one, two, three] = [often(1000), often(2000), often(3000)];
    assert.ok(one.share > 0.5 && two.share > 0.5 && three.share > 0.5, JSON.stringify({ one, two, three }));
    const [first, second] = [two.value - one.value, three.value - two.value];
    assert.ok(first > 1000 && Math.abs(second - first) < first / 100, JSON.stringify({ one, two, three }));
    // Nothing at all, once it is compiled, is less than what is taken off for measuring, or hardly more.
    const empty = () => {};
    const nothing = Array.from({ length: 20 }, () => measure(empty, 'instructions:u')).slice(10);
    const counted = mode(nothing.map(({ counts }) => Number(counts['instructions:u'])));
    assert.ok(counted.value < 100, `${counted.value}`);
  });

  test('more events than counters: they take turns, and the scaled counts agree', () => {
    using own = counters(Array.from({ length: 10 }, () => 'instructions:u'));
    assert.ok(own.notes.some(({ kind }) => kind === 'group-split'));
    for (let i = 0; i < 60; i++) spin(100_000);
    const { counts, source } = own.read();
    assert.equal(source, 'read');
    assert.ok(counts.some(({ enabledNs, runningNs }) => runningNs < enabledNs));
    const scaled = counts.map((count) => Number(count.scaled));
    assert.ok(Math.min(...scaled) > 0.7 * Math.max(...scaled), `${scaled}`);
  });

  test('two that need the same counter are taken apart, and both count', () => {
    using own = counters(['armv8_pmuv3/cpu_cycles,long=1/', 'armv8_pmuv3/cpu_cycles,long=1/']);
    assert.ok(own.notes.some(({ kind }) => kind === 'group-split'));
    for (let i = 0; i < 60; i++) spin(100_000);
    assert.ok(own.read().counts.every(({ value, scaled }) => value > 0n && scaled! >= value));
  });

  test('a page read takes at most half of the instructions of read(2)', () => {
    using own = counters(['instructions', 'cycles']);
    using kernel = counters(['instructions', 'cycles'], { access: 'read' });
    const out = new Float64Array(3);
    const cost = (one: typeof own) => {
      for (let i = 0; i < 3000; i++) one.readInto(out);
      const begin = own.read().counts[0]!.value;
      for (let i = 0; i < 1000; i++) one.readInto(out);
      return Number(own.read().counts[0]!.value - begin) / 1000;
    };
    const [page, read] = [cost(own), cost(kernel)];
    assert.ok(page <= read / 2, `${page} and ${read} instructions`);
  });

  test('a worker sees its own instructions only', async () => {
    using own = counters('instructions:u');
    const worker = startWorker(import.meta.url);
    const answer = await new Promise<{ spent: bigint; source: string }>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await worker.terminate();
    assert.equal(answer.source, 'page');
    assert.ok(answer.spent > 20_000n);
    const before = own.read().counts[0]!.value;
    spin(20_000);
    assert.ok(own.read().counts[0]!.value > before);
  });

  test('without kernel.perf_user_access the counters are read by the kernel, and a note says what to do', () => {
    writeFileSync(USER_ACCESS, '0');
    using own = counters('cycles');
    writeFileSync(USER_ACCESS, '1');
    assert.equal(own.read().source, 'read');
    assert.match(own.notes.map(({ text }) => text).join(), /sysctl kernel\.perf_user_access=1/);
  });
}
