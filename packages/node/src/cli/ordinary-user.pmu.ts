import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { counterpoint } from '../test/command-line.ts';
import { perf } from '../test/perf.ts';

/** Of `ada`, in the guest's /etc/passwd. */
const ADA = 1000;

before(() => {
  mkdirSync('/tmp/ada');
  writeFileSync('/tmp/ada/file', new Uint8Array(1_000_000));
  writeFileSync('/proc/sys/kernel/perf_event_paranoid', '2');
  process.setgroups?.([]);
  process.setgid?.(ADA);
  process.setuid?.(ADA);
});

test('an ordinary user records the cycles of their own program in user space', async () => {
  const file = '/tmp/perf.data';
  const { status, err } = await counterpoint(
    'record',
    '-o',
    file,
    '--',
    'busybox',
    'md5sum',
    '/tmp/ada/file',
  );
  assert.equal(status, 0, err);
  assert.match(err, /recording cycles:Pu instead of cycles:P: kernel\.perf_event_paranoid/);
  assert.match(perf('evlist', '-v', '-i', file), /exclude_kernel: 1/);
  const { out } = await counterpoint('report', '--sort', 'dso', '-i', file);
  assert.match(out, /busybox$/m);
});

test('an ordinary user is told what they may not', async () => {
  const { status, err } = await counterpoint('record', '-a', '-o', '/tmp/all.data', '--', 'true');
  assert.notEqual(status, 0);
  assert.match(err, /perf_event_paranoid/);
});
