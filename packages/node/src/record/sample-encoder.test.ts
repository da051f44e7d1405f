import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
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
import type { SessionEvent } from '../session/index.ts';
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
      const encoder = new SampleEncoder({ attr, instances } as unknown as SessionEvent);
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
