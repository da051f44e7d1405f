import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LoopSenses, LoopWatch } from './loop-watch.ts';
import type { Whereabouts } from './thread-whereabouts.ts';

const MS = 1_000_000n;

/** A loop that is busy and waits by turns, as a kernel would tell of it. */
class SimulatedLoop implements LoopSenses {
  nowNs = 0n;
  readonly #busy: readonly { fromNs: bigint; toNs: bigint }[];
  readonly asked: Whereabouts[] = [];

  /** Times in milliseconds; before the first the loop waits. */
  constructor(busyMs: readonly (readonly [from: number, to: number])[]) {
    this.#busy = busyMs.map(([from, to]) => ({
      fromNs: BigInt(Math.round(from * 1e6)),
      toNs: BigInt(Math.round(to * 1e6)),
    }));
  }

  since(): bigint {
    return this.#busy.findLast(({ fromNs }) => fromNs <= this.nowNs)?.fromNs ?? 0n;
  }

  whereIs(): Whereabouts {
    const isBusy = this.#busy.some(({ fromNs, toNs }) => fromNs <= this.nowNs && this.nowNs < toNs);
    const whereabouts = isBusy ? 'running' : 'waiting';
    this.asked.push(whereabouts);
    return whereabouts;
  }

  cpuNs(): number {
    const begun = this.#busy.filter(({ fromNs }) => fromNs < this.nowNs);
    const spans = begun.map(
      ({ fromNs, toNs }) => Math.min(Number(toNs), Number(this.nowNs)) - Number(fromNs),
    );
    return spans.reduce((sum, one) => sum + one, 0);
  }

  seesEntries(): boolean {
    return false;
  }

  hidden(): void {}

  /** Look as the trigger does, each time `lateMs` later than it should be. */
  run(delayMs: number, untilMs: number, lateMs = 0): { atMs: number; lateMs: number }[] {
    const watch = new LoopWatch(this, delayMs);
    watch.add(7, 0);
    const told: { atMs: number; lateMs: number }[] = [];
    while (this.nowNs < BigInt(untilMs) * MS) {
      const { late, nextNs } = watch.look(this.nowNs);
      for (const one of late) told.push({ atMs: Number(this.nowNs / MS), lateMs: one.lateMs });
      assert.ok(nextNs > this.nowNs && nextNs <= this.nowNs + BigInt(delayMs) * MS);
      this.nowNs = nextNs + BigInt(Math.round(lateMs * 1e6));
    }
    return told;
  }
}

test('whatever is over the delay is told of once, while it lasts', () => {
  // Blocks of 520 ms, with all kinds of work around them: none is between two looks.
  for (let offset = 0; offset < 500; offset += 7) {
    const quick = Array.from({ length: 20 }, (_, at) => [at * 37 + 3, at * 37 + 3 + (at % 9)] as const);
    const blocks = [1000 + offset, 2700 + offset, 3300 + offset].map((from) => [from, from + 520] as const);
    const loop = new SimulatedLoop([...quick, ...blocks]);
    const told = loop.run(500, 5000, 1);
    assert.equal(told.length, 3, `${offset}: ${JSON.stringify(told)}`);
    told.forEach(({ atMs, lateMs }, index) => {
      assert.ok(atMs < blocks[index]![1]);
      assert.ok(lateMs >= 500 && lateMs < 520);
    });
  }
});

test('a loop that waits long is not late, and is asked once for each wait', () => {
  const busy = Array.from({ length: 20 }, (_, at) => [at * 1700 + 1, at * 1700 + 30] as const);
  const loop = new SimulatedLoop(busy);
  assert.deepEqual(loop.run(500, 20 * 1700), []);
  assert.ok(loop.asked.length <= busy.length, `${loop.asked.length}`);
  // A busy server is never asked.
  const server = new SimulatedLoop(
    Array.from({ length: 5000 }, (_, at) => [at * 4 + 1, at * 4 + 4] as const),
  );
  assert.deepEqual(server.run(500, 20_000), []);
  assert.deepEqual(server.asked, []);
});

test('who is woken in its wait as it is looked at is not late', () => {
  const loop = new SimulatedLoop([[10, 11]]);
  let isAwake = false;
  loop.whereIs = () => (isAwake ? 'running' : 'waiting');
  const watch = new LoopWatch(loop, 500);
  watch.add(7, 0);
  loop.nowNs = 511n * MS;
  isAwake = true;
  // For long: others have the CPUs.
  for (let look = 0; look < 20; look++) {
    const { late, nextNs } = watch.look(loop.nowNs);
    assert.deepEqual(late, []);
    assert.ok(nextNs <= loop.nowNs + 5n * MS);
    loop.nowNs = nextNs;
  }
  isAwake = false;
  assert.deepEqual(watch.look(loop.nowNs).late, []);
});

test('blocked in another call is late at once; where entries are seen /proc is not asked', () => {
  const loop = new SimulatedLoop([[10, 5000]]);
  loop.whereIs = () => 'elsewhere';
  assert.deepEqual(loop.run(100, 3000), [{ atMs: 110, lateMs: 100 }]);
  const seen = new SimulatedLoop([[10, 5000]]);
  seen.seesEntries = () => true;
  assert.deepEqual(seen.run(100, 3000), [{ atMs: 110, lateMs: 100 }]);
  assert.deepEqual(seen.asked, []);
});

test('what may not be known is asked of the kernel from then on, and is no lateness', () => {
  const loop = new SimulatedLoop([[10, 5000]]);
  const hidden: number[] = [];
  loop.whereIs = () => 'hidden';
  loop.hidden = () => void hidden.push(7);
  assert.deepEqual(loop.run(100, 3000), []);
  assert.deepEqual(hidden, [7]);
});
