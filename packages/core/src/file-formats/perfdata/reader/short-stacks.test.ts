import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collectStats } from '../../../answers/index.ts';
import { memorySource } from '../../../base/index.ts';
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_SAMPLE_READ,
} from '../../../format/abi/index.ts';
import type { PerfEventAttr, SampleRecord } from '../../../format/records/index.ts';
import { ingestPerfData } from '../../../profile/ingest/index.ts';
import { corpusFiles } from '../../../test/corpus.ts';
import { fixtureRecordings } from '../../../test/fixture-recordings.ts';
import { ATTR, CONTEXT_KERNEL, CONTEXT_USER, comm, recording, sample } from '../../../test/recordings.ts';
import { writePerfData } from '../writer/index.ts';
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
    ({ kind, event, count, unit, fromNs, toNs, exact }) =>
      `${kind} ${event} ${count} ${unit} ${fromNs}-${toNs}${exact || kind === 'multiplexed' ? '' : ' or more'}`,
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

describe('the limit of depth, where the file does not tell it, is found from the chains', () => {
  /** What a thread of `whole` frames, that goes in and out, shows of itself at a limit. */
  const thread = (limit: number, whole: (at: number) => number, samples = 40, pid = 10) =>
    Array.from({ length: samples }, (_, at) => {
      const frames = Array.from({ length: whole(at) }, (_, frame) => 0x1000n + BigInt(frame)).reverse();
      return sample({ time: 5n + BigInt(at), pid, chain: frames.slice(0, limit) });
    });
  const cut = (...chains: SampleRecord[][]) => lossesOf(recording(chains.flat()));
  const inAndOut = (at: number) => 30 + ((at * 7) % 11);

  test('chains of the deepest, that end in the middle of others', async () => {
    assert.deepEqual(await cut(thread(20, inAndOut)), ['call-chain-cut cpu-clock 36 samples 5-44 or more']);
    // Those of 127 are whole where there are deeper ones.
    assert.deepEqual(await cut(thread(300, (at) => 250 + ((at * 7) % 100))), [
      'call-chain-cut cpu-clock 14 samples 13-44 or more',
    ]);
    const recursion = Array.from({ length: 9 }, (_, at) =>
      sample({ time: 5n + BigInt(at), chain: [1n, ...Array<bigint>(19).fill(7n)] }),
    );
    assert.deepEqual(await cut(recursion), ['call-chain-cut cpu-clock 9 samples 5-13 or more']);
  });

  test('the deepest chains are whole where they end as others do, or nothing goes on', async () => {
    assert.deepEqual(await cut(thread(1000, inAndOut)), []);
    assert.deepEqual(await cut(thread(1000, () => 30)), []);
    assert.deepEqual(await cut(thread(1000, (at) => (at % 2 === 0 ? 127 : 300))), []);
    // Without frame pointers chains are a handful, and end anywhere.
    assert.deepEqual(await cut(thread(12, inAndOut)), []);
    // Another process has its own code at the same addresses.
    assert.deepEqual(
      await cut(
        thread(20, () => 30),
        thread(20, () => 35, 40, 11),
      ),
      [],
    );
    // The kernel's part ends where the user's begins; a process that is ending has no user's part.
    const exits = Array.from({ length: 40 }, (_, at) => {
      const record = sample({ time: 5n + BigInt(at), chain: [3n, 2n] });
      const kernel = [CONTEXT_KERNEL, ...(at % 2 === 0 ? [9n, 9n, 1n] : [9n, 1n])];
      record.sample.callchain = at % 2 === 0 ? kernel : [...kernel, CONTEXT_USER, 5n];
      return record;
    });
    assert.deepEqual(await cut(exits), []);
  });

  test('before Linux 4.8 markers count', async () => {
    for (const [osRelease, expected] of [
      ['3.8.11', ['call-chain-cut cpu-clock 1 samples 5-5']],
      ['4.7.0', ['call-chain-cut cpu-clock 1 samples 5-5']],
      ['4.8.0', []],
      ['6.18.44', []],
    ] as const) {
      const attrs = [{ attr: ATTR, ids: [1n], name: 'cpu-clock' }];
      const bytes = writePerfData({ attrs, records: [deep(5n, 125)], features: { osRelease } });
      assert.deepEqual(await lossesOf(bytes), expected, osRelease);
    }
    const old = corpusFiles('perfdata/quipper').find(({ name }) => name === 'perf.data.callgraph-3.8');
    if (old === undefined) return;
    const losses = await lossesOf(old.bytes);
    assert.match(losses.join(), /^call-chain-cut \S+ 27 samples [\d-]+$/);
  });
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
