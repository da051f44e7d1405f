import assert from 'node:assert/strict';
import { test } from 'node:test';
import { topFunctions } from '../../answers/index.ts';
import { memorySource } from '../../base/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import type { PerfRecord } from '../../format/records/index.ts';
import { comm, mmap2 } from '../../test/recordings.ts';
import { assertTableInvariants } from '../tables/index.ts';
import { RunningProfile } from './index.ts';

const NO_DRIVER: SymbolDriver = { open: async () => null };

function started(records: PerfRecord[], driver = NO_DRIVER): RunningProfile {
  const running = new RunningProfile(driver);
  running.profile.events.push({ name: 'cycles', unit: 'cycles', samples: 0, sumPeriod: 0n, lost: 0n });
  for (const record of records) running.machine.record(record);
  return running;
}

function rowsOf({ profile }: RunningProfile): [string | undefined, string | undefined, number, string][] {
  assertTableInvariants(profile);
  return topFunctions(profile).rows.map(({ comm, dso, samples, selfPeriod }) => [
    comm,
    dso,
    samples,
    selfPeriod,
  ]);
}

test('counts add up by process and place, and fade', async () => {
  const running = started([
    comm(10, 'app', 1n, true),
    mmap2(10, 0x1000n, 0x1000n, '/bin/one', 2n),
    mmap2(10, 0x3000n, 0x1000n, '/bin/two', 3n),
  ]);
  running.add(0, 10, 0x1010, 0, 3, 300);
  running.add(0, 10, 0x3010, 0, 1, 100);
  running.add(0, 10, 0x1010, 0, 1, 100);
  running.add(0, 0, 0x8100_0000, 0xffff_ffff, 1, 50);
  await running.resolve(0);
  assert.deepEqual(rowsOf(running), [
    ['app', 'one', 4, '400'],
    ['app', 'two', 1, '100'],
    ['swapper', '[unknown]', 1, '50'],
  ]);
  running.fade(0.5);
  running.add(0, 10, 0x3010, 0, 3, 300);
  assert.deepEqual(rowsOf(running).slice(0, 2), [
    ['app', 'two', 3.5, '350'],
    ['app', 'one', 2, '200'],
  ]);
  // Of what is not seen any more nothing is left after a while, and no row.
  for (let times = 0; times < 10; times++) running.fade(0.5);
  assert.equal(running.profile.samples.length, 0);
  running.add(0, 10, 0x1010, 0, 1, 100);
  running.fade(0);
  assert.deepEqual(rowsOf(running), []);
});

test('what a process maps over is another binary from then on', () => {
  const running = started([comm(10, 'app', 1n, true), mmap2(10, 0x1000n, 0x1000n, '/bin/one', 2n)]);
  running.add(0, 10, 0x1010, 0, 1, 100);
  running.machine.record(mmap2(10, 0x1000n, 0x1000n, '/bin/two', 3n));
  running.add(0, 10, 0x1010, 0, 2, 200);
  assert.deepEqual(
    rowsOf(running).map(([, dso, samples]) => [dso, samples]),
    [
      ['two', 2],
      ['one', 1],
    ],
  );
  running.machine.forget(10);
  running.add(0, 10, 0x1010, 0, 5, 500);
  assert.deepEqual(rowsOf(running)[0], [':10', '[unknown]', 5, '500']);
});

test('code that was made after its map was read gets its name when the map is read again', async () => {
  let map = '1000 10 old\n';
  let reads = 0;
  const driver: SymbolDriver = {
    open: async ({ need }) => {
      if (need !== 'perf-map') return null;
      reads++;
      return memorySource(new TextEncoder().encode(map));
    },
  };
  const running = started([comm(10, 'node', 1n, true), mmap2(10, 0x1000n, 0x1000n, '//anon', 2n)], driver);
  const names = () => topFunctions(running.profile, { sort: ['symbol'] }).rows.map(({ symbol }) => symbol);
  running.add(0, 10, 0x1004, 0, 3, 300);
  await running.resolve(0);
  assert.deepEqual(names(), ['old']);
  map += '1010 10 young\n';
  running.add(0, 10, 0x1014, 0, 1, 100);
  await running.resolve(2000);
  assert.deepEqual(names(), ['old', '[JIT without names]']);
  await running.resolve(2500);
  assert.equal(reads, 1);
  await running.resolve(3000);
  assert.deepEqual(names(), ['old', 'young']);
  await running.resolve(20_000);
  assert.equal(reads, 2);
});
