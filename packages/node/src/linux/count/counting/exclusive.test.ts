import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PermissionError } from '../../kernel/perf-events/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { exclusiveHolder, lockExclusive } from './exclusive.ts';
import { GlobalCounters, openCounting } from './index.ts';

const place = mkdtempSync(join(tmpdir(), 'counterpoint-lock-'));
after(() => rmSync(place, { recursive: true }));

test('of two that require the counters one is refused, and told by whom', async () => {
  const open = () => openCounting({ target: { kind: 'self' }, events: 'faults:u', exclusive: 'require' });
  const script = `
    const { openCounting } = await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
    openCounting({ target: { kind: 'self' }, events: 'faults:u', exclusive: 'require' });
    console.log('taken');
    setInterval(() => {}, 1000);`;
  const flags = ['--import', 'tsx', '--conditions=counterpoint-source', '--input-type=module'];
  const holder = spawn(process.execPath, [...flags, '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(holder.stdout, 'data');
    const before = liveHandles().length;
    assert.throws(open, (error: Error & { code?: string }) => {
      assert.equal(error.code, 'ERR_COUNTERS_TAKEN');
      assert.match(error.message, new RegExp(`process ${holder.pid} \\(.*node`));
      return true;
    });
    assert.equal(liveHandles().length, before);
  } finally {
    holder.kill('SIGKILL');
    await once(holder, 'exit');
  }
  // Killed, it holds nothing any more.
  using session = open();
  assert.equal(session.read().sets[0]!.events[0]!.status !== 'not-supported', true);
  assert.throws(open, { code: 'ERR_COUNTERS_TAKEN' });
});

test('the global mode requires the counters once for all CPUs', (t) => {
  using counters = new GlobalCounters(undefined, { exclusive: 'require' });
  try {
    counters.writeControl({ events: 'task-clock' });
  } catch (error) {
    if (error instanceof PermissionError) return t.skip(error.message);
    throw error;
  }
  counters.writeControl({ events: 'cs' });
  assert.throws(() => new GlobalCounters(undefined, { exclusive: 'require' }), {
    code: 'ERR_COUNTERS_TAKEN',
  });
});

test('the lock is where every user may go, and follows no link', () => {
  chmodSync(place, 0o700);
  assert.throws(() => lockExclusive(realSys, [place]), { code: 'ERR_NO_LOCK' });
  chmodSync(place, 0o1777);
  symlinkSync('/etc/hostname', join(place, 'counterpoint-exclusive.lock'));
  assert.throws(() => lockExclusive(realSys, ['/no/such/place', place]), { code: 'ERR_NO_LOCK' });
  rmSync(join(place, 'counterpoint-exclusive.lock'));
  assert.equal(exclusiveHolder(realSys, [place]), null);
  using lock = lockExclusive(realSys, [place]);
  assert.ok(lock.isOpen);
  assert.match(exclusiveHolder(realSys, [place])!, new RegExp(`process ${process.pid} `));
  assert.throws(() => lockExclusive(realSys, [place]), new RegExp(`process ${process.pid} `));
});

test('exclusive events are pinned, and alone in their attr', () => {
  using session = openCounting({
    target: { kind: 'self' },
    events: '{faults:u,minor-faults:u}',
    exclusive: 'require',
  });
  const flags = session.countedEvents[0]!.map(({ attr }) => [attr.flags.pinned, attr.flags.exclusive]);
  assert.deepEqual(flags, [
    [1, 1],
    [0, 0],
  ]);
});
