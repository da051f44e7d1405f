import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { encodeAttr } from '@counterpoint/core/records';
import { countCommand, hardwareEvent, readCount } from '../../../test/raw-count.ts';
import { liveHandles, realSys, SysError } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

function spin(rounds: number): number {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum = (sum + i * i) | 0;
  return sum;
}

test('cycles of this thread grow while it runs, and stand still while the event is disabled', () => {
  using fd = realSys.perfEventOpen(encodeAttr(hardwareEvent('cycles')), 0, -1, null);
  assert.equal(readCount(fd), 0n);
  realSys.enable(fd);
  spin(100_000);
  const first = readCount(fd);
  assert.ok(first > 0n);
  spin(100_000);
  realSys.disable(fd);
  const second = readCount(fd);
  assert.ok(second > first);
  spin(100_000);
  assert.equal(readCount(fd), second);
  realSys.reset(fd);
  assert.equal(readCount(fd), 0n);
});

test('an event that this CPU does not have is ENOENT', () => {
  assert.throws(
    () => realSys.perfEventOpen(encodeAttr(hardwareEvent('instructions')), 0, -1, null),
    (error) => error instanceof SysError && error.code === 'ENOENT',
  );
});

test('cycles of a command are counted from its exec on', async () => {
  const count = await countCommand(hardwareEvent('cycles'), ['busybox', 'true']);
  assert.ok(count > 10_000n && count < 1_000_000_000n, `${count} cycles`);
});
