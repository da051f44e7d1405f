import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PERF_RECORD_SAMPLE, PERF_RECORD_THROTTLE } from '../abi/index.ts';
import { type HistoryMemory, HistoryRing } from './history-ring.ts';
import { mergeHistories } from './merge-histories.ts';

const SIZE = 4096;
const TIME_FROM_START = 16;
const TIMES = { sampleTimeFromStart: TIME_FROM_START, timeFromEnd: () => 8 };

/** The kernel's side (perf_output_begin_backward): each record before the last one, around the beginning. */
class PlayedHistory implements HistoryMemory {
  readonly data = new Uint8Array(SIZE);
  /** All that was ever written, oldest first. */
  readonly all: Uint8Array<ArrayBuffer>[] = [];
  #written = 0;

  writtenBytes(): number {
    return this.#written;
  }

  write(record: Uint8Array<ArrayBuffer>): void {
    this.all.push(record);
    this.#written += record.length;
    const head = SIZE - (this.#written % SIZE);
    record.forEach((byte, at) => {
      this.data[(head + at) % SIZE] = byte;
    });
  }

  /** The newest records that are whole: the slow and obvious way. */
  expected(): Uint8Array<ArrayBuffer>[] {
    let left = SIZE;
    const whole: Uint8Array<ArrayBuffer>[] = [];
    for (const record of this.all.toReversed()) {
      left -= record.length;
      if (left < 0) break;
      whole.unshift(record);
    }
    return whole;
  }
}

/**
 * A sample with its time at 16, or a record with its time in the last word; the rest tells it from others.
 */
function record(type: number, words: number, timeNs: number, mark: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(words * 8));
  for (let at = 8; at < words * 8; at += 8) view.setBigUint64(at, BigInt(mark), true);
  view.setUint32(0, type, true);
  view.setUint16(6, words * 8, true);
  view.setBigUint64(type === PERF_RECORD_SAMPLE ? TIME_FROM_START : words * 8 - 8, BigInt(timeNs), true);
  return new Uint8Array(view.buffer);
}

const joined = (records: readonly Uint8Array[]) => Buffer.concat(records);
const stopped = (history: PlayedHistory, fromNs = 0) => ({
  memory: history,
  records: new HistoryRing(history).records(TIMES, fromNs),
});

test('what is whole in a history comes out, oldest first', () => {
  const sizes = fc.array(fc.integer({ min: 3, max: 150 }), { maxLength: 200 });
  fc.assert(
    fc.property(sizes, (words) => {
      const history = new PlayedHistory();
      for (const [at, count] of words.entries()) history.write(record(PERF_RECORD_SAMPLE, count, at, at + 1));
      const { records } = stopped(history);
      const expected = history.expected();
      assert.equal(records.count, expected.length);
      const merged = mergeHistories([stopped(history)]);
      assert.deepEqual(Buffer.from(merged.bytes), joined(expected));
      assert.equal(new HistoryRing(history).isFull, words.reduce((sum, count) => sum + count, 0) * 8 > SIZE);
    }),
  );
});

test('several histories are one, in order of time, from a time on', () => {
  const steps = fc.array(
    fc.record({
      ring: fc.integer({ min: 0, max: 3 }),
      words: fc.integer({ min: 3, max: 80 }),
      waitNs: fc.integer({ min: 0, max: 3 }),
      isSample: fc.boolean(),
    }),
    { maxLength: 400 },
  );
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 300 }), (written, fromNs) => {
      const scratch = new Uint8Array(SIZE * 2);
      const rings = Array.from({ length: 4 }, () => new PlayedHistory());
      let timeNs = 0;
      const times = new Map<Uint8Array, number>();
      written.forEach(({ ring, words, waitNs, isSample }, mark) => {
        timeNs += waitNs;
        const type = isSample ? PERF_RECORD_SAMPLE : PERF_RECORD_THROTTLE;
        const one = record(type, words, timeNs, mark + 1);
        times.set(one, timeNs);
        rings[ring]!.write(one);
      });
      for (const ring of rings) {
        const older = ring.expected().some((one) => times.get(one)! < fromNs);
        assert.equal(stopped(ring, fromNs).records.reachesBack, older);
      }
      const held = rings.flatMap((ring) => ring.expected()).filter((one) => times.get(one)! >= fromNs);
      const merged = mergeHistories(
        rings.map((ring) => stopped(ring, fromNs)),
        scratch,
      );
      assert.equal(merged.records, held.length);
      assert.equal(merged.bytes.length, joined(held).length);
      assert.equal(
        merged.firstNs,
        held.length === 0 ? null : Math.min(...held.map((one) => times.get(one)!)),
      );
      // In order, and each of them once: the marks are unique.
      const seen: { time: number; hex: string }[] = [];
      for (let at = 0; at < merged.bytes.length; ) {
        const size = merged.bytes[at + 6]! | (merged.bytes[at + 7]! << 8);
        const hex = Buffer.from(merged.bytes.subarray(at, at + size)).toString('hex');
        seen.push({ time: timeOf(merged.bytes.slice(at, at + size)), hex });
        at += size;
      }
      for (let at = 1; at < seen.length; at++) assert.ok(seen[at - 1]!.time <= seen[at]!.time);
      assert.deepEqual(
        seen.map(({ hex }) => hex).sort(),
        held.map((one) => Buffer.from(one).toString('hex')).sort(),
      );
    }),
  );
});

function timeOf(bytes: Uint8Array<ArrayBuffer>): number {
  const view = new DataView(bytes.buffer);
  const isSample = view.getUint32(0, true) === PERF_RECORD_SAMPLE;
  return Number(view.getBigUint64(isSample ? TIME_FROM_START : bytes.length - 8, true));
}

test('bytes that are no records end a history; nothing is read twice', () => {
  const bytes = fc.uint8Array({ minLength: SIZE, maxLength: SIZE });
  fc.assert(
    fc.property(bytes, fc.integer({ min: 0, max: SIZE * 3 }), (data, written) => {
      const memory = { data: new Uint8Array(data), writtenBytes: () => written - (written % 8) };
      const records = new HistoryRing(memory).records({ ...TIMES, timeFromEnd: (_, end) => end * 3 });
      assert.ok(records.sizeBytes <= Math.min(SIZE, written));
      assert.equal(new Set(records.offsets.subarray(0, records.count)).size, records.count);
      assert.equal(mergeHistories([{ memory, records }]).bytes.length, records.sizeBytes);
    }),
  );
});
