import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '@counterpoint/core/base';
import fc from 'fast-check';
import { type BpfRingMemory, BpfRingReader } from './ring-reader.ts';

const HEADER = 8;
const BUSY = 0x8000_0000;
const DISCARD = 0x4000_0000;

/**
 * The kernel's side in plain memory: every byte is written twice, as two mappings of
 * the same pages would show it.
 */
class Producer {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly sizeBytes: number;
  produced: number;
  consumed: number;

  constructor(sizeBytes: number, start = 0) {
    this.sizeBytes = sizeBytes;
    this.words = new Uint32Array(new ArrayBuffer(sizeBytes * 2));
    this.#bytes = new Uint8Array(this.words.buffer);
    this.#view = new DataView(this.words.buffer);
    this.produced = start;
    this.consumed = start;
  }

  memory(): BpfRingMemory {
    return {
      words: this.words,
      sizeBytes: this.sizeBytes,
      consumed: () => this.consumed,
      produced: () => this.produced,
      consume: (position) => {
        assert.ok(position >= this.consumed && position <= this.produced);
        this.consumed = position;
      },
    };
  }

  /** Position of the record, or -1 where there is no room. */
  reserve(payload: Uint8Array, flags: number): number {
    const total = (payload.length + HEADER + 7) & ~7;
    if (this.produced + total - this.consumed > this.sizeBytes) return -1;
    const at = this.produced;
    this.setHeader(at, payload.length, flags);
    payload.forEach((byte, index) => {
      this.#put((at + HEADER + index) % this.sizeBytes, byte);
    });
    this.produced += total;
    return at;
  }

  setHeader(position: number, length: number, flags: number): void {
    const at = position % this.sizeBytes;
    this.#view.setUint32(at, length + flags, true);
    this.#view.setUint32(at + this.sizeBytes, length + flags, true);
  }

  #put(at: number, byte: number): void {
    this.#bytes[at] = byte;
    this.#bytes[at + this.sizeBytes] = byte;
  }
}

test('records come in order, and reading ends at one that is not finished', () => {
  const ring = new Producer(4096);
  const reader = new BpfRingReader(ring.memory());
  assert.equal(reader.next(), false);
  ring.reserve(Uint8Array.of(1, 2, 3), 0);
  const busy = ring.reserve(Uint8Array.of(4), BUSY);
  ring.reserve(Uint8Array.of(5), 0);
  assert.equal(reader.next(), true);
  assert.deepEqual([...reader.payload()], [1, 2, 3]);
  assert.equal(reader.next(), false);
  reader.commit();
  assert.equal(ring.consumed, 16);
  ring.setHeader(busy, 1, DISCARD);
  assert.equal(reader.next(), true);
  assert.deepEqual([...reader.payload()], [5]);
  assert.deepEqual([reader.records, reader.discarded], [2, 1]);
});

test('a record that wraps is in one piece', () => {
  const ring = new Producer(4096, 4096 - 16);
  ring.reserve(
    Uint8Array.from({ length: 100 }, (_, index) => index),
    0,
  );
  const reader = new BpfRingReader(ring.memory());
  assert.equal(reader.next(), true);
  assert.deepEqual(
    [...reader.payload()],
    Array.from({ length: 100 }, (_, index) => index),
  );
});

test('what is given, taken back and refused is what was written: against a plain list', () => {
  const step = fc.record({
    size: fc.integer({ min: 0, max: 700 }),
    kind: fc.constantFrom('submit', 'discard', 'read', 'commit'),
  });
  // Positions beyond 2^32, as after hours of recording.
  const start = fc.constantFrom(0, 2 ** 31 - 64, 2 ** 32 - 128, 2 ** 40);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), start, (steps, from) => {
      const ring = new Producer(4096, from);
      const reader = new BpfRingReader(ring.memory());
      const expected: number[][] = [];
      const given: number[][] = [];
      const read = () => {
        while (reader.next()) given.push([...reader.payload()]);
      };
      steps.forEach(({ size, kind }, index) => {
        if (kind === 'commit') reader.commit();
        else if (kind === 'read') read();
        else {
          const payload = new Uint8Array(size).fill(index);
          const isThere = ring.reserve(payload, kind === 'discard' ? DISCARD : 0) >= 0;
          if (isThere && kind === 'submit') expected.push([...payload]);
        }
      });
      read();
      assert.deepEqual(given, expected);
    }),
  );
});

test('a ring that contradicts itself is an error, and nothing beyond its end is read', () => {
  const long = new Producer(4096);
  long.reserve(Uint8Array.of(1), 0);
  long.setHeader(0, 3000, 0);
  assert.throws(
    () => new BpfRingReader(long.memory()).next(),
    (error) => error instanceof FormatError && error.code === 'ERR_BPF_RING' && error.found === 'one of 3000',
  );
  const far = new Producer(4096);
  const reader = new BpfRingReader(far.memory());
  far.produced = 5000;
  assert.throws(() => reader.next(), FormatError);
});

test('any image of a ring is read to its end or refused', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 4096, maxLength: 4096 }),
      fc.integer({ min: 0, max: 512 }),
      (image, filled) => {
        const ring = new Producer(4096);
        new Uint8Array(ring.words.buffer).set(image);
        new Uint8Array(ring.words.buffer).set(image, 4096);
        ring.produced = filled * 8;
        const reader = new BpfRingReader(ring.memory());
        try {
          while (reader.next()) reader.payload();
        } catch (error) {
          assert.ok(error instanceof FormatError);
        }
        assert.ok(reader.records + reader.discarded <= 512);
      },
    ),
  );
});
