import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_CONTEXT_KERNEL,
  PERF_CONTEXT_USER,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_WEIGHT,
} from '@counterpoint/core/abi';
import { BodyWriter, encodeRecord, makeAttr, SampleLayout } from '@counterpoint/core/records';
import * as fc from 'fast-check';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import { type SampleRows, sampleOfRow, timeNumberOfRow } from '../formats/index.ts';
import { SampleBuffer, SampleEncoder } from './sample-encoder.ts';

const BITS = [
  ...[PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR],
  ...[PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD, PERF_SAMPLE_CALLCHAIN],
  // Not one of the usual fields.
  PERF_SAMPLE_WEIGHT,
];
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const u32 = fc.nat({ max: 2 ** 32 - 1 });

test('samples are what the encoder of all records makes of them, whatever the event asks for', () => {
  const sample = fc.record({
    event: fc.constant(0),
    ...{
      ip: u64,
      pid: u32,
      tid: u32,
      cpu: fc.nat({ max: 3 }),
      timeNs: u64,
      period: u64,
      address: u64,
      weight: u64,
    },
    callchain: fc.array(u64, { maxLength: 200 }),
  });
  fc.assert(
    fc.property(fc.subarray(BITS), fc.array(sample, { minLength: 1, maxLength: 5 }), (bits, samples) => {
      const attr = makeAttr({ sampleType: BigInt(bits.reduce((all, bit) => all | bit, 0)) });
      const instances = [0, 1].map((cpu) => ({ cpu, id: BigInt(70 + cpu) }));
      const encoder = new SampleEncoder({ attr, instances } as unknown as SampledEvent);
      const buffer = new SampleBuffer();
      const writer = new BodyWriter();
      for (const one of samples) {
        encoder.encode(buffer, one);
        const id = one.cpu === 1 ? 71n : 70n;
        const { timeNs: time, address: addr, ...rest } = one;
        const misc = one.ip >> 63n === 1n ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
        const fields = { ...rest, time, addr, identifier: id, id, streamId: id };
        const record = { type: PERF_RECORD_SAMPLE, misc, sample: fields, tail: new Uint8Array(0) } as const;
        encodeRecord(writer, record, new SampleLayout(attr));
      }
      assert.deepEqual(buffer.take(), writer.take());
      assert.equal(buffer.length, 0);
    }),
    { numRuns: 300 },
  );
});

test('rows of memory are what their samples are one by one', () => {
  // A row: event, pid, tid, place of its chain, ip, period, time.
  const at = { event: 0, pid: 1, tid: 2, chain: 3, ip: 6, period: 8, timeNs: 10 };
  const marks = [PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER].map((mark) => BigInt.asUintN(64, BigInt(mark)));
  const chain = fc
    .tuple(fc.constantFrom(...marks), fc.array(u64, { maxLength: 9 }))
    .map(([mark, rest]) => [mark, ...rest]);
  const row = fc.record({
    pid: u32,
    tid: u32,
    ip: u64,
    period: u64,
    timeNs: u64,
    chain: fc.oneof(fc.constant([]), chain),
  });
  const timesOf = fc.constantFrom('in rows', 'beside', 'common');
  const rowsOf = fc.array(row, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.subarray(BITS), rowsOf, timesOf, fc.boolean(), (bits, made, times, hasChains) => {
      const hasTimes = times === 'in rows';
      const attr = makeAttr({ sampleType: BigInt(bits.reduce((all, bit) => all | bit, 0)) });
      const instances = [0, 1].map((cpu) => ({ cpu, id: BigInt(70 + cpu) }));
      const encoder = new SampleEncoder({ attr, instances } as unknown as SampledEvent);
      const rowWords = 14;
      const words = new Uint32Array(rowWords * 2 * made.length);
      const chains: bigint[] = [7n];
      made.forEach(({ pid, tid, ip, period, timeNs, chain: own }, index) => {
        // In every second place.
        const start = rowWords * 2 * index;
        words.set([0, pid, tid, own.length === 0 ? 0 : chains.length], start);
        const wide = new BigUint64Array(words.buffer);
        wide.set([ip, period, timeNs], (start + at.ip) / 2);
        chains.push(BigInt(own.length), ...own);
      });
      const { timeNs: _, ...withoutTimes } = at;
      const { chain: __, ...withoutChains } = hasTimes ? at : withoutTimes;
      const rows: SampleRows = {
        ...{ words, rowWords, count: made.length, cpu: 1, timeNs: 99n },
        at: hasChains ? (hasTimes ? at : withoutTimes) : withoutChains,
        places: Uint32Array.from(made, (_one, index) => 2 * index),
        ...(times === 'beside' ? { timesNs: BigUint64Array.from(made, ({ timeNs }) => timeNs) } : {}),
        ...(hasChains ? { chains: new Uint32Array(BigUint64Array.from(chains).buffer) } : {}),
      };
      const [byRow, one] = [new SampleBuffer(), new SampleBuffer()];
      made.forEach((expected, index) => {
        const sample = sampleOfRow(rows, index);
        assert.deepEqual(
          [sample.ip, sample.pid, sample.period],
          [expected.ip, expected.pid, expected.period],
        );
        assert.equal(sample.timeNs, times === 'common' ? 99n : expected.timeNs);
        assert.equal(timeNumberOfRow(rows, index), Number(sample.timeNs));
        encoder.encodeRow(byRow, rows, index);
        encoder.encode(one, sample);
      });
      assert.deepEqual(byRow.take(), one.take());
    }),
    { numRuns: 300 },
  );
});

test('the chain of a row begins with its own address in its own mode', () => {
  const [kernel, user] = [PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER].map((mark) =>
    BigInt.asUintN(64, BigInt(mark)),
  );
  const chainFor = (ip: bigint, stored: bigint[]) => {
    const words = new Uint32Array([0, 1, 1, 1, 0, 0, Number(ip & 0xffff_ffffn), Number(ip >> 32n), 1, 0]);
    const chains = new Uint32Array(BigUint64Array.from([0n, BigInt(stored.length), ...stored]).buffer);
    const at = { event: 0, pid: 1, tid: 2, chain: 3, ip: 6, period: 8 };
    return sampleOfRow({ words, rowWords: 10, count: 1, at, cpu: 0, timeNs: 0n, chains }, 0).callchain;
  };
  const inKernel = 0xffff_ffff_8100_0000n;
  assert.deepEqual(chainFor(0x400n, [user!, 0x111n, 0x222n]), [user, 0x400n, 0x222n]);
  assert.deepEqual(chainFor(inKernel, [kernel!, 1n, 2n, user!, 3n]), [kernel, inKernel, 2n, user, 3n]);
  // Without its kernel part a chain begins with the call of the kernel.
  assert.deepEqual(chainFor(inKernel, [user!, 0x111n]), [user, 0x111n]);
  // The kernel has given none.
  assert.deepEqual(chainFor(inKernel, []), []);
});
