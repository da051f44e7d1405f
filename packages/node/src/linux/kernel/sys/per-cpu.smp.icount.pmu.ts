import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { encodeAttr } from '@counterpoint/core/records';
import { hardwareEvent, readCount } from '../../../test/raw-count.ts';
import { launchHeld } from '../target/index.ts';
import { liveHandles, realSys } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const attr = encodeAttr(hardwareEvent('instructions', { excludeKernel: 1, enableOnExec: 1 }));

/** Instructions of a command that moves itself to the second CPU, on each of the two. */
async function countOnEach(): Promise<[bigint, bigint]> {
  const held = launchHeld(['busybox', 'taskset', '2', 'busybox', 'true']);
  using first = realSys.perfEventOpen(attr, held.pid, 0, null);
  using second = realSys.perfEventOpen(attr, held.pid, 1, null);
  held.release();
  assert.equal((await held.exited).code, 0);
  return [readCount(first), readCount(second)];
}

const MOST_RUNS = 5;

// Once in a while the emulator counts 2,000 fewer in a run: two of a few have to agree, to the instruction.
test('what a program does on one CPU and on the other is all that it does', async () => {
  const sums: bigint[] = [];
  for (let run = 0; run < MOST_RUNS; run++) {
    const [first, second] = await countOnEach();
    assert.ok(second > 10_000n, `${second} on the second CPU`);
    if (sums.includes(first + second)) return;
    sums.push(first + second);
  }
  assert.fail(`no two runs did the same: ${sums.join(', ')}`);
});
