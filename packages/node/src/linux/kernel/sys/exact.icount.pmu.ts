import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { countCommand, hardwareEvent } from '../../../test/raw-count.ts';
import { liveHandles } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const userInstructions = hardwareEvent('instructions', { excludeKernel: 1 });

function work(kibibytes: number): string[] {
  const path = `/tmp/${kibibytes}-kibibytes`;
  writeFileSync(path, new Uint8Array(kibibytes * 1024));
  return ['busybox', 'md5sum', path];
}

function perfStat(command: string[]): bigint {
  const words = ['stat', '-x,', '-e', 'instructions:u', '--', ...command];
  const { stderr } = spawnSync('perf', words, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  return BigInt(stderr.split(',', 1)[0]!);
}

test('the same program takes the same instructions every time', async () => {
  const first = await countCommand(userInstructions, work(10));
  assert.ok(first > 10_000n, `${first} instructions`);
  for (let i = 0; i < 3; i++) assert.equal(await countCommand(userInstructions, work(10)), first);
});

// perf gives the command another PATH, and every byte of the environment costs
// instructions: differences are compared.
test('perf stat counts the same instructions for the same work', async () => {
  const ours =
    (await countCommand(userInstructions, work(30))) - (await countCommand(userInstructions, work(20)));
  assert.ok(ours > 0n);
  assert.equal(perfStat(work(30)) - perfStat(work(20)), ours);
});
