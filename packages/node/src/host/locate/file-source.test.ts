import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openFileSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-'));
after(() => rmSync(folder, { recursive: true }));

const CONTENT = Uint8Array.from({ length: 10_000 }, (_, at) => at * 7);
const path = join(folder, 'file');
writeFileSync(path, CONTENT);

test('reads are those of the file, shorter only at its end', async () => {
  const source = await openFileSource(path);
  assert.equal(source.size, 10_000);
  assert.deepEqual(await source.read(0, 16), CONTENT.slice(0, 16));
  assert.deepEqual(await source.read(9_990, 100), CONTENT.slice(9_990));
  assert.equal((await source.read(20_000, 5)).length, 0);
  assert.equal((await source.read(0, 2 ** 50)).length, 10_000);
  await source.close();
});

test('readInto fills the caller’s memory', async () => {
  const source = await openFileSource(path);
  const target = new Uint8Array(100).fill(255);
  assert.equal(await source.readInto(target.subarray(10, 20), 50), 10);
  assert.deepEqual(target.slice(10, 20), CONTENT.slice(50, 60));
  assert.equal(target[20], 255);
  assert.equal(await source.readInto(target, 9_950), 50);
  await source.close();
});

test('a second close does nothing, a read after it is refused', async () => {
  const source = await openFileSource(path);
  await source.close();
  await source.close();
  await assert.rejects(source.read(0, 1), { code: 'ERR_CLOSED' });
});

test('a FIFO is refused at once instead of waited for; directories and missing files too', async () => {
  const fifo = join(folder, 'fifo');
  assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
  await assert.rejects(openFileSource(fifo), { code: 'ERR_NOT_A_FILE' });
  await assert.rejects(openFileSource(folder), { code: 'ERR_NOT_A_FILE' });
  await assert.rejects(openFileSource(join(folder, 'none')), { code: 'ENOENT' });
});

test('a large file in pieces is the same', async () => {
  const source = await openFileSource(process.execPath);
  const whole = readFileSync(process.execPath);
  const piece = new Uint8Array(4 << 20);
  for (let offset = 0; offset < source.size; offset += piece.length) {
    const size = await source.readInto(piece, offset);
    assert.ok(whole.subarray(offset, offset + size).equals(piece.subarray(0, size)));
  }
  assert.equal(source.size, whole.length);
  await source.close();
});

test('a file that is nearly all holes ends early, whoever names it, and costs no memory', async () => {
  const sparse = join(folder, 'sparse');
  writeFileSync(sparse, CONTENT);
  truncateSync(sparse, 2 ** 40);
  for (const recorded of [true, false]) {
    const source = await openFileSource(sparse, { recorded });
    assert.ok(source.size >= CONTENT.length && source.size <= 64 << 20, String(source.size));
    assert.deepEqual(await source.read(0, CONTENT.length), CONTENT);
    await source.close();
  }
  // A network file system may not count blocks: only the path of a recording is held to them.
  const uncounted = join(folder, 'uncounted');
  writeFileSync(uncounted, '');
  truncateSync(uncounted, 2 ** 40);
  const asked = await openFileSource(uncounted);
  assert.equal(asked.size, 2 ** 40);
  await asked.close();
  // What has its bytes has all of them.
  const whole = await openFileSource(process.execPath, { recorded: true });
  assert.equal(whole.size, statSync(process.execPath).size);
  await whole.close();
});
