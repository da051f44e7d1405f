import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { PERF_AUX_FLAG_COLLISION, PERF_AUX_FLAG_OVERWRITE, PERF_AUX_FLAG_TRUNCATED } from '../abi/index.ts';
import {
  AuxSnapshots,
  AuxWriter,
  ForwardRing,
  layOutRing,
  mappedRing,
  RingWriter,
  sharedAux,
  sharedRingBytes,
  writtenAux,
  writtenRing,
} from './index.ts';

const SIZES = { pageBytes: 4096, ringBytes: 256, auxBytes: 512 };

function sharedMapping(sizes = SIZES): ArrayBuffer {
  const mapping = new ArrayBuffer(sharedRingBytes(sizes));
  layOutRing(mapping, sizes);
  return mapping;
}

interface Piece {
  offset: number;
  size: number;
  flags: number;
}

/** Bytes that say which they are: every 4 differ from the 4 before. */
function bytesFrom(start: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => {
    const word = Math.imul((start + index) >>> 2, 0x9e37_79b1);
    return (word >>> (8 * ((start + index) & 3))) | 1;
  });
}

function taken(ring: ForwardRing): number[] {
  ring.take();
  const bytes = [...ring.first, ...ring.second];
  ring.commit();
  return bytes;
}

type Step = { kind: 'trace'; size: number; flag: number } | { kind: 'read' } | { kind: 'enable' };

const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('trace' as const),
        size: fc.integer({ min: 0, max: 400 }),
        flag: fc.constantFrom(0, 0, 0, PERF_AUX_FLAG_COLLISION),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ kind: 'read' as const }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'enable' as const }) },
  ),
  { maxLength: 60 },
);

describe('full trace', () => {
  test('against a queue: every byte is read once, in order, and each gap has a truncated piece before it', () => {
    fc.assert(
      fc.property(steps, (schedule: readonly Step[]) => {
        const mapping = sharedMapping();
        const pieces: Piece[] = [];
        let woken = 0;
        const writer = new AuxWriter(writtenAux(mapping), {
          onRecord: (offset, size, flags) => pieces.push({ offset, size, flags }),
          wake: () => woken++,
        });
        const ring = new ForwardRing(sharedAux(mapping));
        const queue: number[] = [];
        const read: number[] = [];
        const gapsAt = new Set<number>();
        let traced = 0;
        for (const step of schedule) {
          if (step.kind === 'read') read.push(...taken(ring));
          else if (step.kind === 'enable') writer.enable();
          else {
            const bytes = bytesFrom(traced, step.size);
            traced += step.size;
            if (!writer.isEnabled) continue;
            if (writer.begin() === 0) continue;
            const fits = writer.write(bytes);
            const isCut = fits < bytes.length;
            writer.end(step.flag | (isCut ? PERF_AUX_FLAG_TRUNCATED : 0));
            queue.push(...bytes.subarray(0, fits));
            if (isCut) gapsAt.add(queue.length);
            assert.equal(writer.isEnabled, !isCut);
          }
        }
        read.push(...taken(ring));
        assert.deepEqual(read, queue);
        // Pieces lie side by side, and say where something is missing.
        let end = 0;
        for (const { offset, size, flags } of pieces) {
          assert.equal(offset, end);
          end += size;
          assert.equal((flags & PERF_AUX_FLAG_TRUNCATED) !== 0, gapsAt.has(end) && (flags & 1) !== 0);
        }
        assert.equal(end, queue.length);
        for (const place of gapsAt)
          assert.ok(pieces.some(({ offset, size, flags }) => offset + size === place && (flags & 1) === 1));
        if (gapsAt.size > 0) assert.ok(woken >= gapsAt.size);
      }),
      { numRuns: 500 },
    );
  });

  /** Traces pieces; returns the room that each found and how often the reader was woken until then. */
  function tracer(watermarkBytes: number) {
    const mapping = sharedMapping();
    let woken = 0;
    const writer = new AuxWriter(writtenAux(mapping), {
      watermarkBytes,
      onRecord() {},
      wake: () => woken++,
    });
    const trace = (size: number, flags = 0): [room: number, woken: number] => {
      const room = writer.begin();
      if (room > 0) {
        writer.write(bytesFrom(0, size));
        writer.end(flags);
      }
      return [room, woken];
    };
    return { trace, writer, ring: new ForwardRing(sharedAux(mapping)) };
  }

  test('one byte of the area stays free, as in CIRC_SPACE', () => {
    const { trace, writer, ring } = tracer(512);
    assert.deepEqual(trace(511), [511, 0]);
    assert.deepEqual(trace(1), [0, 1]);
    assert.equal(writer.isEnabled, false);
    assert.equal(taken(ring).length, 511);
    writer.enable();
    assert.deepEqual(trace(100), [511, 2]);
    assert.deepEqual(trace(0), [411, 2]);
  });

  test('the reader is woken at multiples of the watermark, and where no room is left', () => {
    const { trace, writer } = tracer(128);
    assert.deepEqual(trace(100), [511, 0]);
    assert.deepEqual(trace(28), [411, 1]);
    // 128 + 138: the multiple 256 has passed, so that the next wake is due at 384, not at 266 + 128.
    assert.deepEqual(trace(138), [383, 2]);
    assert.deepEqual(trace(117), [245, 2]);
    assert.deepEqual(trace(1), [128, 3]);
    assert.deepEqual(trace(127), [127, 3]);
    assert.deepEqual(trace(1), [0, 4]);
    assert.equal(writer.isEnabled, false);
  });

  test('a truncated piece under the watermark wakes the reader, and the next wake stays where it was', () => {
    const { trace, writer, ring } = tracer(256);
    assert.deepEqual(trace(200, PERF_AUX_FLAG_TRUNCATED), [511, 1]);
    taken(ring);
    writer.enable();
    assert.deepEqual(trace(55), [511, 1]);
    assert.deepEqual(trace(1), [456, 2]);
  });
});

describe('snapshots', () => {
  const pieces = fc.array(fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 4 }), { maxLength: 12 });

  test('each has all that is new, or says that some is missing', () => {
    fc.assert(
      fc.property(pieces, (snapshots) => {
        const mapping = sharedMapping();
        const flags = new Set<number>();
        const writer = new AuxWriter(writtenAux(mapping), {
          overwrites: true,
          onRecord: (_, __, bits) => flags.add(bits),
          wake() {},
        });
        const reader = new AuxSnapshots(sharedAux(mapping));
        let traced = 0;
        let before = 0;
        let lastEnd = 0;
        for (const [index, sizes] of snapshots.entries()) {
          for (const size of sizes) {
            writer.begin();
            writer.write(bytesFrom(traced, size));
            writer.end();
            traced += size;
          }
          const { first, second, isCut, offset } = reader.take();
          const bytes = [...first, ...second];
          const from = traced - bytes.length;
          assert.deepEqual(bytes, [...bytesFrom(from, bytes.length)], 'the last that were traced');
          assert.ok(offset >= lastEnd);
          assert.equal(offset === lastEnd, !isCut);
          lastEnd = offset + bytes.length;
          // Nothing missing unsaid; where nothing is missing for sure, nothing comes twice.
          if (!isCut && index > 0) assert.equal(from, before);
          if (traced - before > SIZES.auxBytes && index > 0) assert.ok(isCut);
          before = traced;
        }
        for (const bits of flags) assert.equal(bits, PERF_AUX_FLAG_OVERWRITE);
      }),
      { numRuns: 1000 },
    );
  });
});

test('a ring of our own: what finds no room is counted, and a record tells of it before the next', () => {
  const record = (type: number): Uint8Array => {
    const bytes = new Uint8Array(64);
    new DataView(bytes.buffer).setUint32(0, type, true);
    return bytes;
  };
  const mapping = sharedMapping();
  const lost: number[] = [];
  const writer = new RingWriter(writtenRing(mapping), (count) => {
    lost.push(count);
    return record(2).subarray(0, 32);
  });
  const ring = new ForwardRing(mappedRing(mapping, SIZES.pageBytes));
  for (let turn = 0; turn < 6; turn++) assert.equal(writer.write(record(9)), turn < 4);
  assert.equal(writer.lostInAll, 2);
  assert.equal(taken(ring).length, 256);
  assert.ok(writer.write(record(9)));
  assert.deepEqual(lost, [2]);
  const types = taken(ring);
  assert.deepEqual([types[0], types[32], types.length], [2, 9, 96]);
  assert.ok(writer.write(record(9)));
  assert.deepEqual(lost, [2]);
});
