import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CounterpointError } from '@counterpoint/core/base';
import { openRecording } from './index.ts';

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

/** A stream that ends after `bytes` and remembers whether it was let go. */
function watched(bytes: Uint8Array): AsyncIterable<Uint8Array> & { returned: number } {
  let left: Uint8Array | null = bytes;
  const stream = {
    returned: 0,
    [Symbol.asyncIterator]: () => ({
      async next() {
        const value = left;
        left = null;
        return value === null ? { done: true as const, value: undefined } : { done: false as const, value };
      },
      async return() {
        stream.returned++;
        return { done: true as const, value: undefined };
      },
    }),
  };
  return stream;
}

/** "PERFILE2" and the size of a pipe's header. */
const PIPE_HEADER = new Uint8Array(BigUint64Array.of(0x32454c4946524550n, 16n).buffer);

test('what is refused holds no descriptor', async () => {
  const before = openDescriptors();
  for (const path of ['/dev/zero', '/proc/self/status', '/dev/null']) {
    for (let n = 0; n < 10; n++) {
      await assert.rejects(
        openRecording(path),
        (error) => error instanceof CounterpointError && error.code === 'ERR_NOT_PERF_DATA',
      );
    }
  }
  for (let tries = 0; openDescriptors() > before && tries < 100; tries++) await pause(10);
  // Node itself may have closed some of its own meanwhile (26 does).
  assert.ok(openDescriptors() <= before);
});

test('a stream is let go when it is refused, and when its recording is closed', async () => {
  const refused = watched(new Uint8Array(100));
  await assert.rejects(openRecording(refused), /PERFILE2/);
  assert.equal(refused.returned, 1);

  const closed = watched(PIPE_HEADER);
  await (await openRecording(closed)).close();
  assert.equal(closed.returned, 1);

  const read = watched(PIPE_HEADER);
  await using recording = await openRecording(read);
  assert.equal((await recording.stats()).samples, 0);
  assert.equal(read.returned, 0);
});

test('a recording is opened in every form in which bytes come', async () => {
  const file = new URL('../../../../../fixtures/perfdata/plain.data', import.meta.url);
  const bytes = new Uint8Array(readFileSync(file));
  const blob = new Blob([bytes]);
  const source = {
    size: bytes.length,
    read: async (at: number, length: number) => bytes.slice(at, at + length),
  };
  const counts: number[] = [];
  for (const input of [file, file.pathname, bytes, bytes.buffer, blob, source]) {
    await using recording = await openRecording(input);
    counts.push((await recording.stats()).samples);
  }
  assert.ok(counts[0]! > 0);
  assert.deepEqual(
    counts,
    counts.map(() => counts[0]),
  );
  for (const input of [null, undefined, 5, {}, [], ['perf.data'], new Uint16Array(8)])
    await assert.rejects(openRecording(input as never), { code: 'ERR_INPUT' });
});

test('a stream that is kept can be read twice, and leaves no file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-kept-'));
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const writer = spawn('sh', ['-c', `printf 'PERFILE2\\020\\0\\0\\0\\0\\0\\0\\0' > '${pipe}'`]);
  const before = openDescriptors();
  const usual = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  {
    await using recording = await openRecording(pipe, { keepStream: true });
    assert.equal(recording.isStream, false);
    for (let n = 0; n < 2; n++) assert.equal((await recording.stats()).samples, 0);
    assert.deepEqual(readdirSync(folder), ['pipe']);
  }
  if (usual === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = usual;
  assert.ok(openDescriptors() <= before);
  assert.equal(writer.exitCode ?? 0, 0);
  rmSync(folder, { recursive: true });
});
