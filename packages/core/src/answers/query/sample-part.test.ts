import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTableInvariants, MODE_KERNEL, MODE_USER, Profile } from '../../profile/tables/index.ts';
import { copyOfSamples, partOfSamples, topFunctions } from '../index.ts';

function example(): Profile {
  const profile = new Profile();
  profile.events.push({ name: 'cpu-clock', unit: 'nanoseconds', samples: 14, sumPeriod: 14n, lost: 0n });
  profile.binaries.push({ path: '/bin/app', name: 'app', buildId: '', kind: 'user' });
  profile.binaries.push({ path: '[kernel]', name: '[kernel]', buildId: '', kind: 'kernel' });
  const add = (pid: number, name: string, binary: number, weight: number) => {
    const { symbols, frames, stacks, threads, samples, strings } = profile;
    const symbol = symbols.name.push(strings.intern(name));
    symbols.binary.push(binary);
    stacks.prefix.push(-1);
    stacks.frame.push(frames.add({ binary, symbol, mode: binary === 1 ? MODE_KERNEL : MODE_USER }));
    threads.tid.push(pid);
    threads.comm.push(strings.intern(pid === 0 ? 'swapper' : 'app'));
    const thread = threads.pid.push(pid);
    samples.add(Number.NaN, thread, strings.intern('app'), -1, 0, stacks.length - 1, weight, weight);
  };
  add(10, 'main', 0, 3);
  add(10, 'sys_read', 1, 1);
  add(0, 'default_idle', 1, 8);
  add(0, 'net_rx_action', 1, 1);
  // A program may have a function of that name.
  add(10, 'default_idle', 0, 1);
  return profile;
}

function rows(options: Parameters<typeof partOfSamples>[1]): [string, number][] {
  const { profile } = partOfSamples(example(), options);
  assertTableInvariants(profile);
  return topFunctions(profile, { sort: ['symbol'] }).rows.map(({ symbol, percent }) => [
    symbol ?? '',
    Math.round(percent),
  ]);
}

test('a part of the samples, and its shares are those of the part', () => {
  assert.equal(rows({}).length, 5);
  assert.deepEqual(rows({ hideIdle: true }), [
    ['main', 50],
    ['default_idle', 17],
    ['net_rx_action', 17],
    ['sys_read', 17],
  ]);
  assert.deepEqual(rows({ hideIdle: true, hideKernel: true }), [
    ['main', 75],
    ['default_idle', 25],
  ]);
  assert.deepEqual(rows({ hideUser: true })[0], ['default_idle', 80]);
  const { idlePercent, profile } = partOfSamples(example(), { hideIdle: true });
  assert.equal(Math.round(idlePercent), 57);
  assert.deepEqual([profile.events[0]!.samples, profile.events[0]!.sumPeriod], [6, 6n]);
  assert.equal(partOfSamples(new Profile(), { hideIdle: true }).idlePercent, 0);
});

test('a copy stays as it is', () => {
  const profile = example();
  const copy = copyOfSamples(profile);
  const before = topFunctions(copy);
  profile.samples.weight.data.fill(0);
  profile.samples.stack.push(0);
  assert.deepEqual(topFunctions(copy), before);
  assertTableInvariants(copy);
});

test('the first rows only', () => {
  const sort = ['symbol', 'pid'] as const;
  const all = topFunctions(example(), { sort });
  const some = topFunctions(example(), { sort, most: 2 });
  assert.deepEqual(some.rows, all.rows.slice(0, 2));
  assert.deepEqual([some.rowCount, all.rowCount, all.rows.length], [5, undefined, 5]);
});
