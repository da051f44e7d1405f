import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, getPriority, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  MMAP_PAGE_DATA_HEAD,
  MMAP_PAGE_DATA_OFFSET,
  MMAP_PAGE_DATA_SIZE,
  PERF_RECORD_SAMPLE,
} from '@counterpoint/core/abi';
import { ForwardRing, mappedRing, RecordScan } from '@counterpoint/core/ring';
import type { SampledEvents } from '../../kernel/perf-events/index.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { libc } from '../../kernel/sys/ffi.ts';
import { liveHandles, type Mapping, realSys } from '../../kernel/sys/index.ts';
import { drainCode } from './drain-code.ts';
import { type DrainOptions, DrainThread } from './drain-thread.ts';
import { ThreadReader } from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-drain-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = drainCode(process.arch) === null ? `no code for ${process.arch}` : false;
const PAGE = realSys.pageSizeBytes();
const MARK = Uint8Array.of(68, 0, 0, 0, 0, 0, 8, 0);
const skipOtherNice = getPriority() === 0 ? false : 'these tests run with a nice value';
const PATIENCE_MS = 20_000;

/** A ring in memory of our own, which plays the kernel's. */
class PlayedRing {
  readonly mapping: Mapping;
  readonly ring: ForwardRing;
  readonly #positions: BigUint64Array;
  readonly #data: Uint8Array;

  constructor(pages: number) {
    this.mapping = realSys.mapAnonymous(PAGE * (pages + 1));
    const page = new DataView(this.mapping.buffer);
    page.setBigUint64(MMAP_PAGE_DATA_OFFSET, BigInt(PAGE), true);
    page.setBigUint64(MMAP_PAGE_DATA_SIZE, BigInt(PAGE * pages), true);
    this.#positions = new BigUint64Array(this.mapping.buffer, MMAP_PAGE_DATA_HEAD, 2);
    this.#data = new Uint8Array(this.mapping.buffer, PAGE);
    this.ring = new ForwardRing(mappedRing(this.mapping.buffer, PAGE));
  }

  get unreadBytes(): number {
    return Number(Atomics.load(this.#positions, 0) - Atomics.load(this.#positions, 1));
  }

  /** False: it is full. */
  write(record: Uint8Array): boolean {
    if (this.unreadBytes + record.length > this.#data.length) return false;
    const head = Number(this.#positions[0]!);
    record.forEach((byte, i) => {
      this.#data[(head + i) % this.#data.length] = byte;
    });
    Atomics.store(this.#positions, 0, BigInt(head + record.length));
    return true;
  }

  skipTo(head: bigint): void {
    Atomics.store(this.#positions, 0, head);
  }
}

/** A sample of so many words of 8 bytes, which says where it comes from. */
function sample(ring: number, number: number, words: number): Uint8Array {
  const bytes = new Uint8Array(8 + words * 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, PERF_RECORD_SAMPLE, true);
  view.setUint16(6, bytes.length, true);
  view.setUint32(8, ring, true);
  view.setUint32(12, number, true);
  return bytes;
}

interface Scheduling {
  policy: number;
  nice: number;
  /** Real-time. */
  priority: number;
  sliceNs: bigint;
}

const sysCall = libc('long syscall(long number, long tid, void *attributes, uint size, uint flags)');
const SYS_SCHED_GETATTR = process.arch === 'x64' ? 315 : 275;

/** Of a thread. */
function scheduling(tid: number): Scheduling {
  const attributes = new DataView(new ArrayBuffer(48));
  assert.equal(sysCall(SYS_SCHED_GETATTR, tid, new Uint8Array(attributes.buffer), 48, 0), 0);
  return {
    policy: attributes.getUint32(4, true),
    nice: attributes.getInt32(16, true),
    priority: attributes.getUint32(20, true),
    sliceNs: attributes.getBigUint64(24, true),
  };
}

class Setup implements Disposable {
  readonly rings: PlayedRing[];
  readonly sampled: SampledEvents;
  readonly path = join(directory, `${Math.random()}`);
  readonly fd = openSync(this.path, 'w+');

  constructor(count: number, pages = 1) {
    this.rings = Array.from({ length: count }, () => new PlayedRing(pages));
    const rings = this.rings.map(({ mapping, ring }, cpu) => ({ cpu, mapping, ring }));
    this.sampled = { events: [], rings } as unknown as SampledEvents;
  }

  start(options: Partial<DrainOptions> = {}): DrainThread {
    const thread = DrainThread.start(realSys, this.sampled, {
      file: this.fd,
      offset: 0,
      mark: MARK,
      limitBytes: Number.POSITIVE_INFINITY,
      flushIntervalMs: 1,
      ...options,
    });
    assert.ok(thread !== null);
    return thread;
  }

  [Symbol.dispose](): void {
    for (const { mapping } of this.rings) mapping.close();
    closeSync(this.fd);
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!isTrue()) {
    assert.ok(performance.now() < end, 'it takes too long');
    await sleep(1);
  }
}

/** What is in the file: `ring:number` of each sample, and `|` for a mark. */
function contents(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: string[] = [];
  for (let at = 0; at < bytes.length; at += view.getUint16(at + 6, true)) {
    const isMark = view.getUint32(at, true) !== PERF_RECORD_SAMPLE;
    found.push(isMark ? '|' : `${view.getUint32(at + 8, true)}:${view.getUint32(at + 12, true)}`);
  }
  return found;
}

describe('DrainThread', { skip }, () => {
  test('model: all that three rings were given is in the file, in order, in rounds that are not empty', async () => {
    using setup = new Setup(3);
    const thread = setup.start();
    const wanted: string[][] = [[], [], []];
    let seed = 7;
    const random = (most: number): number => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return seed % most;
    };
    for (let number = 0; number < 6000; number++) {
      const at = random(3);
      // Up to half a ring, so that most batches wrap somewhere.
      const record = sample(at, number, 1 + random(number % 100 === 0 ? 250 : 12));
      await until(() => setup.rings[at]!.write(record));
      wanted[at]!.push(`${at}:${number}`);
      if (number % 500 === 0) await until(() => setup.rings.every(({ unreadBytes }) => unreadBytes === 0));
    }
    thread.finish();
    await until(() => thread.hasEnded);
    thread.close();
    thread.close();
    const bytes = readFileSync(setup.path);
    assert.equal(thread.endBytes, bytes.length);
    assert.deepEqual([thread.errno, thread.skippedBytes], [null, 0]);
    const found = contents(bytes);
    wanted.forEach((list, at) => {
      assert.deepEqual(
        found.filter((one) => one.startsWith(`${at}:`)),
        list,
      );
    });
    assert.equal(found.filter((one) => one === '|').length, thread.rounds);
    assert.ok(found[0] !== '|' && found.at(-1) === '|' && !found.join(' ').includes('| |'));
    for (const { ring } of setup.rings) assert.equal(ring.take(), 0);
  });

  test('what it cannot write stays in the ring, and the file has whole records up to its end', async () => {
    using setup = new Setup(2);
    const full = openSync('/dev/full', 'w');
    const thread = setup.start({ file: full, flushIntervalMs: 1 });
    setup.rings[1]!.write(sample(1, 1, 3));
    await until(() => thread.hasEnded);
    thread.close();
    closeSync(full);
    assert.deepEqual([thread.errno, thread.endBytes], [constants.errno.ENOSPC, 0]);
    assert.deepEqual(
      setup.rings.map(({ unreadBytes }) => unreadBytes),
      [0, 32],
    );
  });

  test('a head that makes no sense is skipped and counted', async () => {
    using setup = new Setup(1);
    const thread = setup.start();
    setup.rings[0]!.skipTo(BigInt(PAGE * 3));
    await until(() => setup.rings[0]!.unreadBytes === 0);
    setup.rings[0]!.write(sample(0, 1, 1));
    thread.finish();
    await until(() => thread.hasEnded);
    thread.close();
    assert.equal(thread.skippedBytes, PAGE * 3);
    assert.deepEqual(contents(readFileSync(setup.path)), ['0:1', '|']);
  });

  test('closing without finishing leaves neither thread nor descriptor, and what was not read in the ring', async () => {
    const opened = () => readdirSync('/proc/self/fd').length;
    const threads = () => readdirSync('/proc/self/task').length;
    using setup = new Setup(1);
    const before = [opened(), threads()] as const;
    for (let round = 0; round < 20; round++) setup.start({ flushIntervalMs: 0 }).close();
    setup.rings[0]!.write(sample(0, 1, 1));
    assert.equal(opened(), before[0]);
    // A thread that was joined is listed for a moment.
    await until(() => threads() <= before[1]);
    assert.equal(setup.rings[0]!.unreadBytes, 16);
  });

  const skipRealtime = process.geteuid?.() === 0 ? false : 'only root has real-time priorities for sure';
  test('a real-time priority is that of the thread alone', { skip: skipRealtime }, async () => {
    using setup = new Setup(1);
    const before = scheduling(process.pid);
    let thread: DrainThread;
    try {
      thread = setup.start({ realtimePriority: 7 });
    } catch (error) {
      // A control group without real-time share.
      assert.equal((error as { code?: string }).code, 'EPERM');
      return;
    }
    await until(() => thread.tid > 0);
    const { policy, priority } = scheduling(thread.tid);
    assert.deepEqual([policy, priority], [1, 7]);
    assert.deepEqual(scheduling(process.pid), before);
    thread.close();
  });

  const skipNice = process.geteuid?.() === 0 ? skipOtherNice : 'only root has nice values below 0 for sure';
  test('the thread alone has the least nice value and the shortest slice', { skip: skipNice }, async () => {
    using setup = new Setup(1);
    const before = scheduling(process.pid);
    const thread = setup.start();
    await until(() => thread.tid > 0 && scheduling(thread.tid).nice === -20);
    assert.equal(scheduling(thread.tid).policy, 0);
    // Before Linux 6.12 there is no such slice, and 0 is what is said of it.
    if (before.sliceNs !== 0n) assert.equal(scheduling(thread.tid).sliceNs, 100_000n);
    assert.deepEqual(scheduling(process.pid), before);
    thread.close();
  });

  test('that of a recorder with a nice value of its own keeps it', { skip: skipNice }, async () => {
    using setup = new Setup(1);
    setPriority(5);
    try {
      const thread = setup.start();
      setup.rings[0]!.write(sample(0, 1, 1));
      // Asked for before the first record is taken.
      await until(() => thread.rounds > 0);
      assert.deepEqual([scheduling(thread.tid).nice, scheduling(process.pid).nice], [5, 5]);
      thread.close();
    } finally {
      setPriority(0);
    }
  });

  test('where new code is forbidden, or rings have no address, there is none', () => {
    using setup = new Setup(1);
    const options = { file: setup.fd, offset: 0, mark: MARK, limitBytes: 0, flushIntervalMs: 0 };
    assert.equal(DrainThread.start(new FakeSys(), setup.sampled, options), null);
    const rings = setup.sampled.rings.map((one) => ({ ...one, mapping: { ...one.mapping, address: null } }));
    const sampled = { events: [], rings } as unknown as SampledEvents;
    assert.equal(DrainThread.start(realSys, sampled, options), null);
  });
});

describe('ThreadReader', { skip }, () => {
  test('scans what the thread has written, tells the limit, and takes what is left at the end', async () => {
    using setup = new Setup(2, 16);
    const scan = new RecordScan([], () => {});
    const grown: number[] = [];
    let limits = 0;
    const file = {
      fd: setup.fd,
      readFd: setup.fd,
      sizeBytes: 0,
      mark: MARK,
      grewTo: (size: number) => void grown.push(size),
      failed: () => new Error('not here'),
    };
    const limit = { limitBytes: 1000, onLimit: () => limits++ };
    using reader = new ThreadReader(realSys, setup.sampled, scan, file, { flushIntervalMs: 1, ...limit });
    assert.ok(reader.start());
    for (let number = 0; number < 100; number++)
      setup.rings[number % 2]!.write(sample(number % 2, number, 3));
    await until(() => limits > 0 && scan.samples === 100);
    for (let number = 0; number < 50; number++) setup.rings[0]!.write(sample(0, number, 3));
    await reader.finish();
    assert.deepEqual([scan.samples, scan.damagedBytes, limits > 0], [150, 0, true]);
    assert.equal(grown.at(-1), readFileSync(setup.path).length);
  });

  test('a file that cannot take more ends the reading with its error', async () => {
    using setup = new Setup(1);
    const full = openSync('/dev/full', 'w+');
    const error = new Error('full');
    const seen: number[][] = [];
    const file = {
      fd: full,
      readFd: full,
      sizeBytes: 0,
      mark: MARK,
      grewTo: () => {},
      failed: (...facts: [number, number]) => {
        seen.push(facts);
        return error;
      },
    };
    const limit = { limitBytes: Number.POSITIVE_INFINITY, onLimit: () => {} };
    const scan = new RecordScan([], () => {});
    using reader = new ThreadReader(realSys, setup.sampled, scan, file, { flushIntervalMs: 1, ...limit });
    assert.ok(reader.start());
    setup.rings[0]!.write(sample(0, 1, 1));
    assert.deepEqual(await reader.ended, { reason: 'failed', error });
    await reader.finish();
    closeSync(full);
    assert.deepEqual(seen, [[constants.errno.ENOSPC, 0]]);
    assert.equal(setup.rings[0]!.unreadBytes, 16);
  });
});
