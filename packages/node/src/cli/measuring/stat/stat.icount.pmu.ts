import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perfStat, shape } from '../../../test/stat-shape.ts';

const LOOP = ['busybox', 'sh', '-c', 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'];
const MANY = 'cycles,instructions,branches,r3,r4,r6,r7,r8,r9,ra,r10,r11,r12,r13,r16';

describe('with hardware counters a command line gives what perf stat prints, but for digits', () => {
  for (const line of [
    '',
    '-d',
    '-e cycles,instructions,task-clock',
    '-e {cycles,instructions},branches,branch-misses',
    '-e cycles:u,instructions:u,instructions:k',
    '-e instructions',
    '-e L1-dcache-loads,L1-dcache-load-misses',
    '-a -e cycles,instructions',
    '-a -A -e cycles,instructions',
    '-x, -e cycles,instructions,task-clock',
    '-x, -a -A -e cycles,instructions',
    `-x, -e ${MANY}`,
  ]) {
    test(`stat ${line}`, async () => {
      const words = [...line.split(' ').filter((word) => word !== ''), '--', ...LOOP];
      const { err } = await counterpoint('stat', ...words);
      assert.deepEqual(shape(err), shape(perfStat(...words)));
    });
  }
});

test('more events than counters: each had one for a share of the time, and is scaled', async () => {
  const { err } = await counterpoint('stat', '--json', '-e', MANY, '--', ...LOOP);
  const { rows } = JSON.parse(err);
  const counted = rows.filter(({ status }: { status: string }) => status === 'counted');
  assert.ok(
    counted.some(
      (row: { runningNs: string; enabledNs: string }) => Number(row.runningNs) < Number(row.enabledNs),
    ),
    err,
  );
  const text = (await counterpoint('stat', '-e', MANY, '--', ...LOOP)).err;
  assert.match(text, /^ +\d+ {6}instructions .* {2}\(\d\d\.\d\d%\)$/m);
});

test('metrics by name', async () => {
  const { err } = await counterpoint('stat', '-M', 'ipc', '--', ...LOOP);
  assert.match(err, /instructions +# +\d\.\d{3} ipc/);
});

function work(kibibytes: number): string[] {
  const path = `/tmp/stat-${kibibytes}-kibibytes`;
  writeFileSync(path, new Uint8Array(kibibytes * 1024));
  return ['-x,', '-e', 'instructions:u', '--', 'busybox', 'md5sum', path];
}

const ours = async (kibibytes: number) =>
  BigInt((await counterpoint('stat', ...work(kibibytes))).err.split(',', 1)[0]!);
const theirs = (kibibytes: number) => BigInt(perfStat(...work(kibibytes)).split(',', 1)[0]!);

// perf gives the command another PATH, and every byte of the environment costs
// instructions: differences are compared.
test('stat counts to the instruction what perf stat counts', async () => {
  const first = await ours(20);
  assert.equal(await ours(20), first);
  const more = (await ours(30)) - first;
  assert.ok(more > 10_000n);
  assert.equal(theirs(30) - theirs(20), more);
});
