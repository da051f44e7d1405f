/** Threads give what one thread gives; and nothing of them is left, however it ends. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { CodeImage } from '@counterpoint/trace/image';
import {
  ExecutionEncoder,
  localPartWorker,
  type PartWorker,
  profileInParts,
  profileTrace,
  RandomWalk,
  type TraceProfile,
} from '@counterpoint/trace/intel-pt';
import { corpusUrl } from '../../../../core/src/test/corpus.ts';
import { assertOnTime, onTime } from '../../../../core/src/test/on-time.ts';
import { partWorkers, threadPartWorker, workersFor } from './index.ts';

/** Functions that call each other, at 0x1000: a: call b; jne a; ret. b: jne +2; nop; nop; ret. */
const CODE = Uint8Array.of(0xe8, 3, 0, 0, 0, 0x75, 0xf9, 0xc3, 0x75, 2, 0x90, 0x90, 0xc3);
const ENTRIES = Int32Array.of(0x1000, 0, 0x1008, 0);

function image(): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x1000n, bytes: CODE });
  return image;
}

function trace(bytes: number): Uint8Array<ArrayBuffer> {
  const path = new RandomWalk({ seed: 3, entries: ENTRIES, interruptEvery: 100 });
  const encoder = new ExecutionEncoder(image(), path, { hash: false });
  return new Uint8Array(Buffer.concat([...encoder.chunks({ bytes })]));
}

function plain({ profile, errors, overflows }: TraceProfile) {
  return { ...profile.sorted().toColumns(), errors, overflows };
}

function ownThreads(): number {
  return readdirSync('/proc/self/task').length;
}

test('1, 2 and 5 threads, bytes that are shared and bytes that are sent', async () => {
  const bytes = trace(2_000_000);
  bytes[1_000_000]! ^= 0x40;
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const expected = plain(profileTrace(bytes, image()));
  assert.ok(expected.errors.length > 0);
  for (const count of [1, 2, 5])
    for (const source of [shared, memorySource(bytes)]) {
      const workers = Array.from({ length: count }, threadPartWorker);
      const found = await profileInParts(source, image(), { workers, partBytes: 100_000 });
      assert.deepEqual(plain(found), expected, `${count} threads`);
    }
  for (const source of [shared, memorySource(bytes)]) {
    const withThisOne = { workers: partWorkers(2), partBytes: 100_000 };
    assert.deepEqual(plain(await profileInParts(source, image(), withThisOne)), expected);
  }
  // The caller's bytes were not given away.
  assert.equal(bytes.length, shared.length);
});

test('the calling thread decodes, too, and lets the others speak', async () => {
  const seen = [0, 0, 0];
  const workers = partWorkers(3).map((worker, index) => ({
    ...worker,
    listen: (onMessage: Parameters<PartWorker['listen']>[0], onError: (error: unknown) => void) =>
      worker.listen((message) => {
        if (message.type === 'outcome') seen[index]!++;
        onMessage(message);
      }, onError),
  }));
  const before = ownThreads();
  const bytes = trace(2_000_000);
  await profileInParts(bytes, image(), { workers, partBytes: 100_000 });
  assert.ok(
    seen.every((parts) => parts > 0),
    seen.join(' '),
  );
  assert.ok(ownThreads() <= before, 'threads are left');
});

test('to cancel ends the threads in the middle of a part', () =>
  onTime(async () => {
    const bytes = trace(8_000_000);
    const before = ownThreads();
    const abort = new AbortController();
    const workers = [threadPartWorker(), threadPartWorker()];
    const startedMs = performance.now();
    const work = profileInParts(memorySource(bytes), image(), {
      workers,
      partBytes: 4_000_000,
      // Slow enough to be met in the middle.
      exactOnly: true,
      signal: abort.signal,
      onProgress: ({ done }) => {
        if (done > 0) abort.abort(new Error('enough'));
      },
    });
    await assert.rejects(work, /enough/);
    const tookMs = performance.now() - startedMs;
    assertOnTime(tookMs < 10_000, `${tookMs.toFixed(0)} ms`);
    assert.ok(ownThreads() <= before, 'threads are left');
  }));

test('a thread that cannot go on is an error', async () => {
  const worker = threadPartWorker();
  const broken: PartWorker = {
    ...worker,
    post: (message, transfer) => {
      // Before it was started.
      if (message.type !== 'start') worker.post(message, transfer);
    },
  };
  await assert.rejects(
    profileInParts(trace(1000), image(), { workers: [broken] }),
    /a decoding worker failed: "part" came before "start"/,
  );
});

test('short traces are not worth threads', () => {
  assert.equal(workersFor(72 << 20), 1);
  assert.equal(workersFor(1 << 30), availableParallelism());
  assert.equal(workersFor(72 << 20, 3), 3);
  assert.equal(workersFor(1 << 20, 3), 1);
});

const TRACES = corpusUrl('pt/own/');

test('the whole program of the corpus, by threads', async () => {
  const read = (name: string) => new Uint8Array(readFileSync(new URL(name, TRACES)));
  const code = new CodeImage();
  code.addSection({ name: 'code', address: 0x401000n, bytes: read('code.bin') });
  for (const name of ['base', 'cyc']) {
    const { instructions } = JSON.parse(readFileSync(new URL(`${name}.json`, TRACES), 'utf8'));
    const bytes = read(`${name}.pt`);
    const threads = [threadPartWorker(), threadPartWorker()];
    const found = await profileInParts(bytes, code, { workers: threads, partBytes: 20_000 });
    assert.equal(found.profile.totals().instructions, instructions);
    const here = await profileInParts(bytes, code, { workers: [localPartWorker()] });
    assert.deepEqual(plain(found), plain(here));
  }
});
