import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_SAMPLE_READ,
} from '../../abi/index.ts';
import { memorySource } from '../../base/index.ts';
import { ingestPerfData } from '../../ingest/index.ts';
import { collectStats } from '../../query/index.ts';
import type { PerfEventAttr } from '../../records/index.ts';
import { fixtureRecordings } from '../../test/fixture-recordings.ts';
import { ATTR, CONTEXT_KERNEL, CONTEXT_USER, comm, recording, sample } from '../../test/recordings.ts';
import { openPerfData } from './index.ts';

const addresses = (count: number) => Array.from({ length: count }, (_, at) => 0x1000n + BigInt(at));

/** A sample with so many addresses, in two parts. */
function deep(time: bigint, count: number) {
  const record = sample({ time, chain: addresses(count) });
  const [first, ...rest] = addresses(count);
  record.sample.callchain = [CONTEXT_KERNEL, first!, CONTEXT_USER, ...rest];
  return record;
}

/** The ledger as both kinds of answers have it. */
async function lossesOf(bytes: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const { loss } = await collectStats(await openPerfData(memorySource(bytes)));
  const { profile } = await ingestPerfData(await openPerfData(memorySource(bytes)));
  assert.deepEqual(profile.loss, loss);
  return loss.map(
    ({ kind, event, count, unit, fromNs, toNs }) => `${kind} ${event} ${count} ${unit} ${fromNs}-${toNs}`,
  );
}

test('a chain with as many addresses as the kernel allows is a loss, markers aside', async () => {
  const chains = (attr: Partial<PerfEventAttr>, ...counts: number[]) =>
    lossesOf(
      recording(
        [comm(10, 'demo'), ...counts.map((count, at) => deep(5n + BigInt(at), count))],
        {},
        { ...ATTR, ...attr },
      ),
    );
  assert.deepEqual(await chains({}, 1, 125, 126), []);
  assert.deepEqual(await chains({}, 127, 3, 127, 126), ['call-chain-cut cpu-clock 2 samples 5-7']);
  // As the event asked, or as the recorder was told by its kernel.
  assert.deepEqual(await chains({ sampleMaxStack: 16 }, 15, 16), ['call-chain-cut cpu-clock 1 samples 6-6']);
  assert.deepEqual(await chains({ sampleMaxStack: 512 }, 127, 300, 511), []);
  const bigEndian = recording([deep(5n, 127)], { littleEndian: false });
  assert.deepEqual(await lossesOf(bigEndian), ['call-chain-cut cpu-clock 1 samples 5-5']);
});

test('a user stack that is not unwound is a loss, an empty one is none', async () => {
  const { bytes } = fixtureRecordings().find(({ name }) => name === 'user-stacks')!;
  assert.deepEqual(await lossesOf(bytes), [
    'user-stack-not-unwound cpu-clock 2 samples 5001000000-5003000000',
  ]);
});

test('time in which a counter that samples read had no place on the processor is a loss', async () => {
  for (const isGroup of [true, false]) {
    const readFormat = BigInt(
      PERF_FORMAT_ID |
        PERF_FORMAT_TOTAL_TIME_ENABLED |
        PERF_FORMAT_TOTAL_TIME_RUNNING |
        (isGroup ? PERF_FORMAT_GROUP : 0),
    );
    const attr = { ...ATTR, sampleType: ATTR.sampleType | BigInt(PERF_SAMPLE_READ), readFormat };
    const read = (time: bigint, timeEnabled: bigint, timeRunning: bigint) => {
      const record = sample({ time });
      record.sample.read = { timeEnabled, timeRunning, values: [{ value: time * 10n, id: 1n }] };
      return record;
    };
    const whole = recording([read(5n, 100n, 100n), read(6n, 200n, 200n)], {}, attr);
    assert.deepEqual(await lossesOf(whole), []);
    // The times go on from sample to sample: the last one counts.
    const shared = recording([read(5n, 100n, 60n), read(6n, 200n, 110n)], {}, attr);
    assert.deepEqual(await lossesOf(shared), ['multiplexed cpu-clock 90 nanoseconds null-null']);
  }
});
