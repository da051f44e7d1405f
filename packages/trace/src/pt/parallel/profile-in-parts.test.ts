/**
 * In parts as in one piece: the same counts, branches, errors and overflows, wherever it is
 * cut and whoever decodes what.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ByteSource, memorySource } from '@counterpoint/core/base';
import { corpusFiles, corpusText } from '../../../../core/src/test/corpus.ts';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { ExactProfile, profileTrace, type TraceProfile } from '../answers/index.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk } from '../execution/index.ts';
import { PT_IP_SEXT_48, PT_MODE_EXEC_CS_L } from '../packets/opcodes.ts';
import {
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_PAD,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TNT8,
} from '../packets/packet-kinds.ts';
import { PacketWriter } from '../packets/packet-writer.ts';
import {
  BYTES_BEHIND_CUT,
  type FromWorker,
  findCut,
  localPartWorker,
  type PartOptions,
  PartRunner,
  type PartWorker,
  profileInParts,
} from './index.ts';

const OWN = ['base', 'noret', 'long', 'mtc', 'cyc', 'tsc'];
const files = new Map(corpusFiles('pt/own').map(({ name, bytes }) => [name, bytes]));

function ownImage(): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x401000n, bytes: files.get('code.bin')! });
  return image;
}

function sortedOf(found: TraceProfile): TraceProfile {
  return { ...found, profile: found.profile.sorted() };
}

/** Rows that differ would be a page: the totals first, then all of it at once. */
function assertSame(found: TraceProfile, expected: TraceProfile, name: string): void {
  assert.deepEqual(found.errors, expected.errors, name);
  assert.equal(found.overflows, expected.overflows, name);
  assert.deepEqual(found.totals, expected.totals, name);
  assert.deepEqual([found.profile.totals(), found.profile.leftOut], [found.totals, found.leftOut], name);
  assert.deepEqual(found.profile.toColumns(), expected.profile.toColumns(), name);
}

function inParts(
  bytes: Uint8Array<ArrayBuffer>,
  image: CodeImage,
  workers: number,
  partBytes: number,
  options: PartOptions = {},
): Promise<TraceProfile> {
  return profileInParts(bytes, image, {
    ...options,
    partBytes,
    workers: Array.from({ length: workers }, localPartWorker),
  });
}

for (const encoding of OWN)
  test(`the whole program, encoding ${encoding}, by 1, 2, 3 and 7 workers`, async () => {
    const truth = JSON.parse(corpusText(`pt/own/${encoding}.json`)!);
    const bytes = files.get(`${encoding}.pt`)!;
    const image = ownImage();
    const expected = sortedOf(profileTrace(bytes, image));
    assert.equal(expected.profile.totals().instructions, truth.instructions);
    for (const workers of [1, 2, 3, 7])
      for (const partBytes of [5000, 30_000])
        assertSame(
          await inParts(bytes, image, workers, partBytes),
          expected,
          `${workers} workers, ${partBytes}`,
        );
  });

test('damaged traces, cut everywhere: the same errors at the same places', async () => {
  const random = new Random(20261122);
  const image = ownImage();
  let errors = 0;
  for (let round = 0; round < 400; round++) {
    const whole = files.get(`${OWN[round % OWN.length]!}.pt`)!;
    const from = random.below(whole.length - 50_000);
    const bytes = whole.slice(from, from + 20_000 + random.below(30_000));
    for (let flips = random.below(12); flips >= 0; flips--)
      bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
    const options = { resume: round % 3 === 1, exactOnly: round % 16 === 0 };
    const expected = sortedOf(profileTrace(bytes, image, options));
    const found = await inParts(bytes, image, 1 + random.below(4), 1 + random.below(12_000), options);
    assertSame(found, expected, `round ${round}`);
    errors += expected.errors.length;
  }
  assert.ok(errors > 100, `only ${errors} errors: nothing was damaged`);
});

test('random walks with interrupts and a PSB every few bytes; damaged, too', async (context) => {
  const programs = await loadPrograms();
  if (programs === null) return context.skip('no gzip and libc for x86-64 here');
  const random = new Random(7);
  const encodings: EncodingOptions[] = [
    { psbBytes: 256 },
    { returnCompression: false, psbBytes: 512 },
    { longTnt: true, psbBytes: 128 },
    { tsc: true, mtc: true, cyc: true, psbBytes: 600 },
  ];
  for (const [seed, encoding] of encodings.entries()) {
    const path = new RandomWalk({ seed: seed + 50, entries: programs.entries, interruptEvery: 30 });
    const trace = joinChunks(
      new ExecutionEncoder(programs.image, path, encoding).chunks({ instructions: 200_000 }),
    );
    for (let round = 0; round < 12; round++) {
      const bytes = trace.slice();
      for (let flips = round === 0 ? 0 : random.below(20); flips > 0; flips--)
        bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
      const expected = sortedOf(profileTrace(bytes, programs.image));
      if (round === 0) assert.deepEqual(expected.errors, []);
      const found = await inParts(bytes, programs.image, 1 + (round % 3), 1 + random.below(bytes.length / 3));
      assertSame(found, expected, `${JSON.stringify(encoding)}, round ${round}`);
    }
  }
});

/** PSB+ and some outcomes, twice; then nothing for a while, so that the second is a place for a cut. */
function twoHeaders(firstIp: number, outcomes: number, secondIp: number): Uint8Array<ArrayBuffer> {
  const writer = new PacketWriter();
  for (const ip of [firstIp, secondIp]) {
    writer.put(PACKET_PSB);
    writer.put(PACKET_MODE_EXEC, { flags: PT_MODE_EXEC_CS_L });
    writer.put(PACKET_FUP, { type: PT_IP_SEXT_48, lo: ip, hi: 0 });
    writer.put(PACKET_PSBEND);
    writer.put(PACKET_TNT8, { type: outcomes, lo: 0 });
  }
  for (let pad = 0; pad < BYTES_BEHIND_CUT; pad++) writer.put(PACKET_PAD);
  return writer.bytes().slice();
}

/** At 0x1000: l: jne l; nop; and there it ends. */
function shortCode(): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'short', address: 0x1000n, bytes: Uint8Array.of(0x75, 0xfe, 0x90) });
  return image;
}

test('what a part executed last may be cut off by the first thing in the next', async () => {
  const bytes = twoHeaders(0x1000, 1, 0x1003);
  const cut = findCut(bytes, 1, bytes.length);
  assert.ok(cut > 16);
  const runner = new PartRunner(shortCode(), {});
  const first = runner.run({ id: 0, bytes, baseOffset: 0, from: 0, stopAt: cut }, () => {});
  const second = runner.run({ id: 1, bytes, baseOffset: 0, from: cut, stopAt: -1 }, () => {});
  assert.ok(first.isJoined && first.endsInRun && second.startsWithCut);
  const expected = sortedOf(profileTrace(bytes, shortCode()));
  assert.equal(expected.profile.cuts, 1);
  assertSame(await inParts(bytes, shortCode(), 2, 1), expected, 'cut in the middle of a run');
});

test('a state that the next part cannot know is no place to join', async () => {
  // The mode is not said again: no place for a cut; and were it one, the decoder of what
  // follows would not know the mode.
  const writer = new PacketWriter();
  writer.put(PACKET_PSB);
  writer.put(PACKET_MODE_EXEC, { flags: PT_MODE_EXEC_CS_L });
  writer.put(PACKET_FUP, { type: PT_IP_SEXT_48, lo: 0x1000, hi: 0 });
  writer.put(PACKET_PSBEND);
  writer.put(PACKET_TNT8, { type: 1, lo: 1 });
  const cut = writer.bytes().length;
  writer.put(PACKET_PSB);
  writer.put(PACKET_FUP, { type: PT_IP_SEXT_48, lo: 0x1000, hi: 0 });
  writer.put(PACKET_PSBEND);
  writer.put(PACKET_TNT8, { type: 1, lo: 1 });
  for (let pad = 0; pad < BYTES_BEHIND_CUT; pad++) writer.put(PACKET_PAD);
  const bytes = writer.bytes().slice();
  assert.equal(findCut(bytes, 1, bytes.length), -1);
  const runner = new PartRunner(shortCode(), {});
  const outcome = runner.run({ id: 0, bytes, baseOffset: 0, from: 0, stopAt: cut }, () => {});
  assert.equal(outcome.isJoined, false);
  const expected = sortedOf(profileTrace(bytes, shortCode()));
  assert.equal(expected.profile.totals().instructions, 2);
  assertSame(await inParts(bytes, shortCode(), 2, 1), expected, 'no cut');
});

test('nothing, and bytes without a synchronization point', async () => {
  for (const bytes of [new Uint8Array(0), new Uint8Array(100).fill(0x7f)])
    assertSame(
      await inParts(bytes, shortCode(), 2, 1),
      sortedOf(profileTrace(bytes, shortCode())),
      String(bytes.length),
    );
});

test('progress goes from nothing to all; to cancel ends it at once', async () => {
  const bytes = files.get('noret.pt')!;
  const done: number[] = [];
  const closed: number[] = [];
  const workers = [0, 1].map((index): PartWorker => {
    const worker = localPartWorker();
    return { ...worker, close: () => void closed.push(index) };
  });
  await profileInParts(bytes, ownImage(), {
    workers,
    partBytes: 5_000,
    onProgress: (progress) => {
      assert.equal(progress.total, bytes.length);
      done.push(progress.done);
    },
  });
  assert.deepEqual(
    done,
    [...done].sort((a, b) => a - b),
  );
  assert.ok(new Set(done).size >= 10);
  assert.equal(done.at(-1), bytes.length);
  assert.deepEqual(closed, [0, 1]);

  const abort = new AbortController();
  let calls = 0;
  const cancelled = profileInParts(bytes, ownImage(), {
    workers: [localPartWorker()],
    partBytes: 5_000,
    signal: abort.signal,
    onProgress: () => {
      if (++calls === 3) abort.abort(new Error('enough'));
    },
  });
  await assert.rejects(cancelled, /enough/);
  const callsThen = calls;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(calls, callsThen);
});

test('a worker that fails is an error that says so', async () => {
  const broken: PartWorker = {
    post: () => {},
    listen: (_onMessage, onError) => queueMicrotask(() => onError(new Error('it has gone'))),
    close: () => {},
  };
  await assert.rejects(
    profileInParts(new Uint8Array(100), shortCode(), { workers: [broken] }),
    /it has gone/,
  );
});

test('parts that do not join, told while the end of the trace is looked for, are decoded again', async () => {
  const bytes = twoHeaders(0x1000, 1, 0x1003);
  assert.ok(findCut(bytes, 1, bytes.length) > 0);
  const told: (() => void)[] = [];
  let parts = 0;
  const worker = (): PartWorker => {
    let tell: (message: FromWorker) => void = () => {};
    return {
      post: (message) => {
        if (message.type === 'finish')
          queueMicrotask(() => tell({ type: 'result', profile: new ExactProfile() }));
        if (message.type !== 'part') return;
        const { id, stopAt } = message.part;
        const outcome = {
          ...{ id, isJoined: stopAt < 0, endsInRun: false, startsWithCut: false, errors: [] },
          overflows: ++parts === 3 ? 7 : 0,
        };
        // The second part's is told first, then that the first one does not join: both before anybody knows
        // that there are no more.
        told.unshift(() => tell({ type: 'outcome', outcome, memory: null }));
        if (parts > 1)
          queueMicrotask(() => {
            for (const run of told.splice(0)) run();
          });
      },
      listen: (onMessage) => {
        tell = onMessage;
      },
      close: () => {},
    };
  };
  const options = { partBytes: 1, workers: [worker(), worker(), worker()] };
  const found = await Promise.race([profileInParts(bytes, shortCode(), options), later('nothing came')]);
  assert.deepEqual([parts, typeof found === 'string' ? found : found.overflows], [3, 7]);
});

function later(value: string): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve(value), 10_000).unref());
}

test('a worker of another copy of the package has another class of profiles', async () => {
  const copy = new URL('../answers/exact-profile.ts?copy', import.meta.url).href;
  const { ExactProfile: Foreign } = (await import(copy)) as { ExactProfile: typeof ExactProfile };
  assert.notEqual(Foreign, ExactProfile);
  const workers = [0, 1].map((): PartWorker => {
    const worker = localPartWorker();
    return {
      ...worker,
      listen: (onMessage, onError) =>
        worker.listen((message) => {
          if (message.type !== 'result' || !(message.profile instanceof ExactProfile))
            return onMessage(message);
          const profile = new Foreign();
          profile.addColumns(message.profile.toColumns());
          onMessage({ type: 'result', profile });
        }, onError),
    };
  });
  const bytes = files.get('base.pt')!;
  const found = await profileInParts(bytes, ownImage(), { workers, partBytes: 10_000 });
  assertSame(found, sortedOf(profileTrace(bytes, ownImage())), 'another class');
});

test('workers that were used, and sizes that are none, are refused', async () => {
  const workers = [localPartWorker()];
  const bytes = twoHeaders(0x1000, 1, 0x1003);
  await profileInParts(bytes, shortCode(), { workers });
  await assert.rejects(profileInParts(bytes, shortCode(), { workers }), { code: 'ERR_PT_WORKER' });
  await assert.rejects(inParts(bytes, shortCode(), 1, Number.NaN), { code: 'ERR_PT_PART' });
});

test('a file is read into memory that is used again', async () => {
  const once = files.get('base.pt')!;
  const whole = joinChunks(Array.from({ length: Math.ceil((4 << 20) / once.length) }, () => once));
  const image = ownImage();
  const memory = new Set<ArrayBufferLike>();
  const source: ByteSource = {
    size: whole.length,
    read: async (offset, length) => whole.subarray(offset, offset + length),
    readInto: async (target, offset) => {
      memory.add(target.buffer);
      const bytes = whole.subarray(offset, offset + target.length);
      target.set(bytes);
      return bytes.length;
    },
  };
  const found = await profileInParts(source, image, { partBytes: 50_000, workers: [localPartWorker()] });
  assertSame(found, sortedOf(profileTrace(whole, image)), 'the same');
  assert.ok(memory.size < 16, `${memory.size} pieces of memory for ${whole.length / 50_000} parts`);
});

test('others do not run away from a part that takes long', async () => {
  const bytes = files.get('noret.pt')!;
  const image = ownImage();
  let given = 0;
  const held: (() => void)[] = [];
  let isSlow = true;
  const counting = (worker: PartWorker): PartWorker => ({
    ...worker,
    post: (message, transfer) => {
      if (message.type === 'part') given++;
      worker.post(message, transfer);
    },
  });
  const local = localPartWorker();
  const slow: PartWorker = {
    ...local,
    listen: (onMessage, onError) =>
      local.listen((message) => {
        if (isSlow) held.push(() => onMessage(message));
        else onMessage(message);
      }, onError),
  };
  const found = profileInParts(bytes, image, {
    workers: [counting(slow), counting(localPartWorker())],
    partBytes: 4000,
  });
  let before = -1;
  for (let turn = 0; turn < 1000 && (before !== given || turn < 20); turn++) {
    before = given;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const parts = Math.floor(bytes.length / 4100);
  assert.ok(given > 4 && given <= 16 && parts > 20, `${given} of some ${parts} parts were given out`);
  isSlow = false;
  for (const tell of held.splice(0)) tell();
  assertSame(await found, sortedOf(profileTrace(bytes, image)), 'all the same');
});

test('a trace is taken in every form that bytes have; what holds none is refused, and the workers are closed', async () => {
  const bytes = files.get('base.pt')!;
  const expected = await inParts(bytes, ownImage(), 1, 100_000);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  for (const trace of [buffer, new Blob([bytes]), memorySource(bytes)])
    assertSame(
      await profileInParts(trace, ownImage(), { workers: [localPartWorker()], partBytes: 100_000 }),
      expected,
      trace.constructor.name,
    );
  let closed = 0;
  const workers = [{ ...localPartWorker(), close: () => void closed++ }];
  for (const trace of ['walk.pt', new Blob([bytes]).stream(), undefined])
    await assert.rejects(profileInParts(trace as never, ownImage(), { workers }), { code: 'ERR_INPUT' });
  assert.equal(closed, 3);
});

test('without workers it is said who makes some', async () => {
  for (const options of [undefined, {}, { workers: [] }])
    await assert.rejects(profileInParts(new Uint8Array(), ownImage(), options as never), {
      code: 'ERR_NO_WORKERS',
      remedy: /webPartWorker.*partWorkers.*profileTrace/,
    });
});
