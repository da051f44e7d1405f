import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  MMAP_PAGE_DATA_HEAD,
  MMAP_PAGE_DATA_OFFSET,
  MMAP_PAGE_DATA_SIZE,
  MMAP_PAGE_DATA_TAIL,
  PERF_RECORD_LOST,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
} from '../abi/index.ts';
import { ForwardRing, mappedRing, RecordScan, type RingMemory } from './index.ts';

/** The kernel's side in plain memory: writes records at its head, drops what does not fit. */
class FakeKernel implements RingMemory {
  readonly data: Uint8Array<ArrayBuffer>;
  #position: number;
  #tail: number;
  dropped = 0;

  constructor(size: number, start = 0) {
    this.data = new Uint8Array(size);
    this.#position = start;
    this.#tail = start;
  }

  head(): number {
    return this.#position;
  }

  setTail(position: number): void {
    assert.ok(
      position >= this.#tail && position <= this.#position,
      'the tail only moves forward, up to the head',
    );
    this.#tail = position;
  }

  write(record: Uint8Array): boolean {
    if (this.#position + record.length - this.#tail > this.data.length) {
      this.dropped++;
      return false;
    }
    record.forEach((byte, i) => {
      this.data[(this.#position + i) % this.data.length] = byte;
    });
    this.#position += record.length;
    return true;
  }
}

function record(type: number, words: number, fill: number): Uint8Array {
  const bytes = new Uint8Array(8 + words * 8).fill(fill);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, type, true);
  view.setUint16(4, 0, true);
  view.setUint16(6, bytes.length, true);
  return bytes;
}

function ringAt(kernel: FakeKernel, start: number): ForwardRing {
  const ring = new ForwardRing(kernel);
  ring.tail = start;
  ring.head = start;
  return ring;
}

describe('ForwardRing', () => {
  test('an empty ring gives nothing', () => {
    const ring = new ForwardRing(new FakeKernel(64));
    assert.equal(ring.take(), 0);
    assert.equal(ring.first.length + ring.second.length, 0);
    ring.commit();
  });

  test('a batch that wraps comes as two spans of the ring itself', () => {
    const kernel = new FakeKernel(64);
    const ring = new ForwardRing(kernel);
    kernel.write(record(1, 5, 0xaa));
    assert.equal(ring.take(), 48);
    ring.commit();
    kernel.write(record(2, 3, 0xbb));
    assert.equal(ring.take(), 32);
    assert.deepEqual([ring.first.length, ring.second.length], [16, 16]);
    assert.equal(ring.first.buffer, kernel.data.buffer, 'no copy');
    assert.equal(ring.second.byteOffset, kernel.data.byteOffset);
  });

  test('a full ring is one batch, and nothing is taken twice', () => {
    const kernel = new FakeKernel(64);
    const ring = new ForwardRing(kernel);
    for (let i = 0; i < 9; i++) kernel.write(record(1, 0, 0));
    assert.equal(kernel.dropped, 1);
    assert.equal(ring.take(), 64);
    assert.equal(ring.second.length, 0);
    ring.commit();
    assert.equal(ring.take(), 0);
  });

  test('positions beyond 2^32 and 2^52 keep their place', () => {
    for (const start of [2 ** 32 - 24, 2 ** 52 + 40]) {
      const kernel = new FakeKernel(64, start);
      const ring = ringAt(kernel, start);
      kernel.write(record(7, 3, 0x5a));
      assert.equal(ring.take(), 32);
      assert.equal(ring.first.length + ring.second.length, 32);
      assert.equal(ring.first.byteOffset - kernel.data.byteOffset, start % 64);
      ring.commit();
      assert.equal(ring.take(), 0);
    }
  });

  test('a head that makes no sense is skipped and counted', () => {
    let position = 8;
    const memory = { data: new Uint8Array(64), head: () => position, setTail: () => {} };
    const ring = new ForwardRing(memory);
    assert.equal(ring.take(), 8);
    ring.commit();
    position = 1000;
    assert.equal(ring.take(), 0);
    assert.equal(ring.skippedBytes, 992);
    position = 1008;
    assert.equal(ring.take(), 8);
  });

  test('model: every mix of writes and reads gives what a queue gives', () => {
    const step = fc.oneof(
      fc.record({ write: fc.integer({ min: 0, max: 6 }), fill: fc.integer({ min: 0, max: 255 }) }),
      fc.constant('read' as const),
      fc.constant('peek' as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.nat(8), (steps, start8) => {
        const start = start8 * 8 + 2 ** 32 - 32;
        const kernel = new FakeKernel(128, start);
        const ring = ringAt(kernel, start);
        const queue: number[] = [];
        for (const action of steps) {
          if (typeof action === 'object') {
            const bytes = record(9, action.write, action.fill);
            if (kernel.write(bytes)) queue.push(...bytes);
            continue;
          }
          assert.equal(ring.take(), queue.length);
          assert.deepEqual([...ring.first, ...ring.second], queue);
          if (action === 'peek') continue;
          ring.commit();
          queue.length = 0;
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('RecordScan', () => {
  test('model: counts and visited records equal those of a list', () => {
    const one = fc.record({
      type: fc.constantFrom(PERF_RECORD_SAMPLE, PERF_RECORD_LOST, PERF_RECORD_MMAP2, 300),
      words: fc.integer({ min: 0, max: 5 }),
      fill: fc.integer({ min: 0, max: 255 }),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 60 }), fc.nat(20), (rows, batch) => {
        const kernel = new FakeKernel(256);
        const ring = new ForwardRing(kernel);
        const visited: number[][] = [];
        const scan = new RecordScan([PERF_RECORD_LOST], (type, view, offset, size) => {
          assert.equal(type, PERF_RECORD_LOST);
          visited.push([...new Uint8Array(view.buffer, view.byteOffset + offset, size)]);
        });
        const drain = () => {
          ring.take();
          scan.scan(kernel.data, ring.tail, ring.head);
          ring.commit();
        };
        const expected = { samples: 0, other: 0, lost: [] as number[][], bytes: 0 };
        rows.forEach((row, i) => {
          const bytes = record(row.type, row.words, row.fill);
          if (!kernel.write(bytes)) {
            drain();
            kernel.write(bytes);
          }
          expected.bytes += bytes.length;
          if (row.type === PERF_RECORD_SAMPLE) expected.samples++;
          if (row.type === 300) expected.other++;
          if (row.type === PERF_RECORD_LOST) expected.lost.push([...bytes]);
          if (i % (batch + 1) === 0) drain();
        });
        drain();
        assert.equal(scan.samples, expected.samples);
        assert.equal(scan.counts[255], expected.other);
        assert.equal(scan.bytes, expected.bytes);
        assert.equal(scan.records, rows.length);
        assert.deepEqual(visited, expected.lost);
      }),
      { numRuns: 200 },
    );
  });

  test('the oldest and newest sample time, across wraps and rings', () => {
    const scan = new RecordScan([], () => {}, 16);
    assert.equal(scan.sampleTimes.get(), null);
    const times = [0x1_0000_0005n, 0x1_0000_0007n, 0xffff_fff0n, 0x2_0000_0000n];
    for (const [first, last] of [
      [times[0]!, times[1]!],
      [times[2]!, times[3]!],
    ]) {
      const kernel = new FakeKernel(64, 40);
      for (const time of [first!, last!]) {
        const bytes = record(PERF_RECORD_SAMPLE, 2, 1);
        new DataView(bytes.buffer).setBigUint64(16, time, true);
        kernel.write(bytes);
      }
      scan.scan(kernel.data, 40, kernel.head());
    }
    assert.deepEqual(scan.sampleTimes.get(), { first: 0xffff_fff0n, last: 0x2_0000_0000n });
  });

  test('a piece of a file: whole records only, with the times of all samples, whatever ring they are from', () => {
    const bytes = new Uint8Array(64);
    const view = new DataView(bytes.buffer);
    const header = (at: number, type: number, size: number) => {
      view.setUint32(at, type, true);
      view.setUint16(at + 6, size, true);
    };
    header(0, PERF_RECORD_SAMPLE, 16);
    view.setBigUint64(8, 500n, true);
    header(16, 68, 8);
    header(24, PERF_RECORD_SAMPLE, 16);
    view.setBigUint64(32, 300n, true);
    header(40, PERF_RECORD_SAMPLE, 16);
    view.setBigUint64(48, 400n, true);
    header(56, PERF_RECORD_SAMPLE, 16);
    const visited: number[] = [];
    const long = { chainFromStart: 8, words: 450 };
    const scan = new RecordScan([68], (_, __, offset, size) => visited.push(offset, size), 8, long);
    // The last one is cut.
    assert.equal(scan.scanPiece(bytes, 64), 56);
    assert.deepEqual([scan.samples, scan.bytes, scan.damagedBytes], [3, 56, 0]);
    assert.deepEqual(visited, [0, 16, 16, 8]);
    assert.deepEqual(scan.sampleTimes.get(), { first: 300n, last: 500n });
    assert.equal(scan.scanPiece(bytes.slice(56), 8), 0);
    assert.equal(scan.scanPiece(bytes, 0), 0);
  });

  test('all kinds of bytes: no endless loop, no throw, everything accounted for', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 128, maxLength: 128 }),
        fc.nat(15),
        fc.nat(16),
        (bytes, at, size) => {
          const scan = new RecordScan([1, 2, 9, 10], (_, view, offset, recordSize) => {
            assert.ok(offset + recordSize <= view.byteLength);
          });
          scan.scan(new Uint8Array(bytes), at * 8, at * 8 + size * 8);
          assert.ok(scan.damagedBytes <= size * 8);
        },
      ),
    );
  });
});

test('mappedRing reads the head and writes the tail where the kernel has them', () => {
  const buffer = new ArrayBuffer(4096 * 3);
  const view = new DataView(buffer);
  view.setBigUint64(MMAP_PAGE_DATA_OFFSET, 4096n, true);
  view.setBigUint64(MMAP_PAGE_DATA_SIZE, 8192n, true);
  view.setBigUint64(MMAP_PAGE_DATA_HEAD, 0x1_2345_6789n, true);
  const memory = mappedRing(buffer, 4096);
  assert.equal(memory.data.byteOffset, 4096);
  assert.equal(memory.data.length, 8192);
  assert.equal(memory.head(), 0x1_2345_6789);
  memory.setTail(0x1_2345_6000);
  assert.equal(view.getBigUint64(MMAP_PAGE_DATA_TAIL, true), 0x1_2345_6000n);
  view.setBigUint64(MMAP_PAGE_DATA_OFFSET, 0n, true);
  view.setBigUint64(MMAP_PAGE_DATA_SIZE, 0n, true);
  assert.equal(mappedRing(buffer, 4096).data.length, 8192, 'old kernels do not say where the data is');
});
