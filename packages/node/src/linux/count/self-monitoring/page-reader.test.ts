import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { afterEach, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import {
  MMAP_CAP_USER_RDPMC,
  MMAP_CAP_USER_TIME,
  MMAP_CAP_USER_TIME_ZERO,
  MMAP_PAGE_LOCK,
  MMAP_PAGE_OFFSET,
  MMAP_PAGE_TIME_ENABLED,
  MMAP_PAGE_TIME_RUNNING,
  MMAP_PAGE_TIME_ZERO,
} from '@counterpoint/core/abi';
import { assertQuick } from '../../../../../core/src/test/assert-quick.ts';
import { EventPage } from '../../../test/event-page.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { PageReader } from './page-reader.ts';
import { STUB_BUSY, STUB_NEEDS_READ, STUB_NO_CLOCK, STUB_TIMES_STALE } from './stub-request.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = process.arch === 'x64' || process.arch === 'arm64' ? false : `no stub for ${process.arch}`;

function readerOf(pages: readonly EventPage[], clock: EventPage | null): PageReader {
  return new PageReader(realSys, {
    pages: pages.map(({ mapping }) => mapping),
    clockPage: clock?.mapping ?? null,
    counterInstruction: 'clock',
  });
}

describe('PageReader', { skip }, () => {
  // The clock page shows the counter as it is, so what the stub reads in the counter's place
  // is known to within a moment.
  for (const width of [32, 40, 48, 64]) {
    test(`a counter of ${width} bits has its sign`, () => {
      using clock = EventPage.clock();
      using page = new EventPage({ width: BigInt(width), offset: -(1n << 40n) });
      using reader = readerOf([page], clock);
      const words = new BigUint64Array(reader.results);
      assert.equal(reader.read(), STUB_TIMES_STALE);
      const counter = BigInt.asIntN(64, words[1]! + (1n << 40n));
      assert.equal(counter, BigInt.asIntN(width, counter));
      assert.ok(BigInt.asUintN(width, counter - words[0]!) < 1n << 31n);
    });
  }

  test('both signs come out: the highest bit of the counter is chosen to be set, and to be clear', () => {
    using clock = EventPage.clock();
    using page = new EventPage();
    using reader = readerOf([page], clock);
    const words = new BigUint64Array(reader.results);
    reader.read();
    const bits = words[0]!.toString(2);
    // Bits from the 30th up do not change meanwhile, but for one moment a second.
    for (const [bit, sign] of [
      ['1', -1n],
      ['0', 1n],
    ] as const) {
      const place = bits.slice(0, -30).indexOf(bit, 1);
      if (place < 0) continue;
      page.set({ width: BigInt(bits.length - place) });
      reader.read();
      assert.ok(BigInt.asIntN(64, words[1]!) * sign >= 0n, `${bits} with ${bits.length - place} bits`);
    }
  });

  test('no index, or no capability: the kernel is to be asked, and the time is there', () => {
    using clock = EventPage.clock();
    for (const fields of [{ index: 0n }, { capabilities: 0n }, { index: 0xffff_ffffn }, { index: 200n }]) {
      using page = new EventPage(fields);
      using reader = readerOf([page], clock);
      assert.equal(reader.read(), STUB_NEEDS_READ);
      assert.notEqual(new BigUint64Array(reader.results)[0], 0n);
    }
  });

  test('without the time of the page, a shared counter cannot be scaled', () => {
    using page = new EventPage({ enabled: 100n, running: 99n });
    using reader = readerOf([page], null);
    assert.equal(reader.read(), STUB_NEEDS_READ);
    page.set({ running: 100n });
    assert.equal(reader.read(), STUB_TIMES_STALE);
  });

  test('a page that loses its time says so', () => {
    using page = new EventPage({ capabilities: BigInt(MMAP_CAP_USER_RDPMC | MMAP_CAP_USER_TIME) });
    using reader = readerOf([page], page);
    assert.equal(reader.read(), STUB_NO_CLOCK);
    page.set({ capabilities: 0n });
    assert.equal(reader.read(), STUB_NO_CLOCK | STUB_NEEDS_READ);
  });

  test('the clock of the C library is CLOCK_MONOTONIC', () => {
    using reader = readerOf([], null);
    const words = new BigUint64Array(reader.results);
    const before = process.hrtime.bigint();
    assert.equal(reader.read(), 0);
    const after = process.hrtime.bigint();
    assert.ok(before <= words[0]! && words[0]! <= after);
  });

  test('a page that is locked for ever is given up soon', async () => {
    using page = new EventPage({ lock: 1n });
    using free = new EventPage();
    for (const [pages, clock] of [
      [[page], null],
      [[free, page], free],
      [[], page],
    ] as const) {
      using reader = readerOf(pages, clock);
      await assertQuick(1000, () => {
        for (let i = 0; i < 1000; i++) assert.equal(reader.read(), STUB_BUSY);
      });
    }
  });

  test('after close a read is an error, and kept results read as zeros', () => {
    using page = new EventPage({ offset: 5n });
    const reader = readerOf([page], null);
    reader.read();
    const words = new BigUint64Array(reader.results);
    assert.notEqual(words[1], 0n);
    reader.close();
    reader.close();
    assert.throws(() => reader.read(), /closed/);
    assert.equal(words[1], 0n);
  });

  test('where code of our own is forbidden, nothing is left behind', () => {
    const forbidden = {
      ...realSys,
      loadCode: (code: Uint8Array) => new FakeSys().loadCode(code),
    };
    assert.throws(() => new PageReader(forbidden, { pages: [], clockPage: null }), { code: 'EACCES' });
    assert.throws(() => new PageReader(realSys, { pages: [], clockPage: null, arch: 'riscv64' }), {
      code: 'ERR_ARCHITECTURE',
    });
  });

  test('values are never torn while another thread writes the pages under their locks', async () => {
    // Nothing is added to the offset but the lowest bit's sign (0 or -1), and to the
    // times nothing (factor 0).
    const capabilities = BigInt(MMAP_CAP_USER_RDPMC | MMAP_CAP_USER_TIME | MMAP_CAP_USER_TIME_ZERO);
    using first = new EventPage({ width: 1n, capabilities });
    using second = new EventPage({ width: 1n, capabilities });
    using reader = readerOf([first, second], first);
    const words = new BigUint64Array(reader.results);
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(WRITER, {
      eval: true,
      workerData: {
        koffi: createRequire(import.meta.url).resolve('koffi'),
        addresses: [first.mapping.address, second.mapping.address],
        stop,
        at: {
          lock: MMAP_PAGE_LOCK,
          offset: MMAP_PAGE_OFFSET,
          values: [MMAP_PAGE_TIME_ENABLED, MMAP_PAGE_TIME_RUNNING, MMAP_PAGE_TIME_ZERO],
        },
      },
    });
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    const seen = new Set<bigint>();
    let reads = 0;
    const end = performance.now() + 10_000;
    // Wall time: how long it may take.
    while (performance.now() < end && (reads < 20_000 || seen.size < 100)) {
      const flags = reader.read();
      if (flags === STUB_BUSY) continue;
      assert.equal(flags, 0);
      reads++;
      const [time, value, value2, ...times] = words.subarray(0, 7);
      const k = time!;
      seen.add(k);
      assert.ok(
        times.every((one) => one === k),
        `${[...words]}`,
      );
      for (const one of [value!, value2!])
        assert.ok(one === 2n * k || one === BigInt.asUintN(64, 2n * k - 1n));
    }
    Atomics.store(stop, 0, 1);
    await ended;
    assert.ok(
      reads >= 1000 && seen.size >= (availableParallelism() > 1 ? 10 : 2),
      `${reads} reads, ${seen.size} different`,
    );
  });
});

/** Writes k into the fields of both pages, 2k into the offset, all of it under both locks. */
const WRITER = `
const { workerData } = require('node:worker_threads');
const koffi = require(workerData.koffi);
const { addresses, at, stop } = workerData;
const pages = addresses.map((address) => koffi.view(address, 4096));
const locks = pages.map((page) => new Int32Array(page, at.lock, 1));
const words = pages.map((page) => new BigUint64Array(page));
for (let k = 1n; Atomics.load(stop, 0) === 0; k++) {
  for (const lock of locks) Atomics.add(lock, 0, 1);
  for (const word of words) {
    word[at.offset / 8] = 2n * k;
    for (const value of at.values) word[value / 8] = k;
  }
  for (const lock of locks) Atomics.add(lock, 0, 1);
  for (let pause = 0; pause < 300; pause++) Atomics.load(stop, 0);
}
`;
