import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStats, type StatsAnswer } from '../../../answers/index.ts';
import { memorySource } from '../../../base/index.ts';
import {
  PERF_AUX_FLAG_COLLISION,
  PERF_AUX_FLAG_OVERWRITE,
  PERF_AUX_FLAG_PARTIAL,
  PERF_AUX_FLAG_TRUNCATED,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_RECORD_AUX,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_LOST_SAMPLES_BPF,
  PERF_RECORD_MISC_LOST_SAMPLES_ENTRY,
  PERF_RECORD_MISC_LOST_SAMPLES_UNWRITTEN,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from '../../../format/abi/index.ts';
import type { LossEntry } from '../../../format/loss/index.ts';
import { makeAttr, type PerfRecord } from '../../../format/records/index.ts';
import { ATTR, recording, sample } from '../../../test/recordings.ts';
import { lossEntryRecord } from '../writer/index.ts';
import { openPerfData } from './index.ts';

const tail = new Uint8Array();

function at(time: bigint, cpu: number) {
  return { pid: 10, tid: 11, time, id: 1n, cpu };
}

async function stats(records: PerfRecord[], attr = ATTR): Promise<StatsAnswer> {
  return collectStats(await openPerfData(memorySource(recording(records, {}, attr))));
}

/** The attr of a recorder that reads the kernel's count of lost samples at the end. */
const COUNTED = makeAttr({ ...ATTR, readFormat: BigInt(PERF_FORMAT_ID | PERF_FORMAT_LOST) });

function lostRecord(time: bigint, lost: bigint): PerfRecord {
  return { type: PERF_RECORD_LOST, misc: 0, id: 1n, lost, tail, sampleId: at(time, 3) };
}

function lostSamples(time: bigint, lost: bigint, misc = 0): PerfRecord {
  return { type: PERF_RECORD_LOST_SAMPLES, misc, lost, tail, sampleId: at(time, 3) };
}

test('a lost record says how much, of what, where, and after which sample', async () => {
  const { loss, events } = await stats([
    sample({ time: 100n, cpu: 3 }),
    sample({ time: 150n, cpu: 2 }),
    { type: PERF_RECORD_LOST, misc: 0, id: 1n, lost: 42n, tail, sampleId: at(200n, 3) },
  ]);
  assert.deepEqual(loss, [
    {
      kind: 'ring-full',
      event: 'cpu-clock',
      cpu: 3,
      tid: 11,
      fromNs: '100',
      toNs: '200',
      count: '42',
      unit: 'records',
      exact: true,
    },
  ]);
  assert.equal(events[0]?.lost, '42');
});

test('what the kernel counted as lost samples is preferred per event, and both stand in the ledger', async () => {
  const { loss, events } = await stats([
    { type: PERF_RECORD_LOST, misc: 0, id: 1n, lost: 42n, tail, sampleId: at(200n, 3) },
    { type: PERF_RECORD_LOST_SAMPLES, misc: 0, lost: 40n, tail, sampleId: at(300n, 0) },
  ]);
  assert.deepEqual(
    loss.map(({ kind, count }) => [kind, count]),
    [
      ['ring-full', '42'],
      ['lost-samples', '40'],
    ],
  );
  assert.equal(events[0]?.lost, '40');
});

test('counts read at the end are the losses that LOST records told, and those that came after the last', async () => {
  const told = [sample({ time: 100n, cpu: 3 }), lostRecord(200n, 20n), lostRecord(300n, 17n)];
  for (const time of [0n, 300n]) {
    const same = await stats([...told, lostSamples(time, 37n)], COUNTED);
    assert.deepEqual(
      same.loss.map(({ kind, count }) => [kind, count]),
      [
        ['ring-full', '20'],
        ['ring-full', '17'],
      ],
    );
    assert.equal(same.events[0]?.lost, '37');
    const more = await stats([...told, lostSamples(time, 30n), lostSamples(time, 10n)], COUNTED);
    assert.deepEqual(
      more.loss.map(({ kind, event, count, cpu, toNs }) => [kind, event, count, cpu, toNs]),
      [
        ['ring-full', 'cpu-clock', '20', 3, '200'],
        ['ring-full', 'cpu-clock', '17', 3, '300'],
        ['ring-full', 'cpu-clock', '3', null, null],
      ],
    );
    assert.equal(more.events[0]?.lost, '40');
  }
});

test('samples that the hardware dropped on the way are a loss of their own', async () => {
  const records = [
    sample({ time: 100n }),
    lostSamples(150n, 2n),
    sample({ time: 200n }),
    lostSamples(0n, 5n),
  ];
  const { loss } = await stats(records, COUNTED);
  assert.deepEqual(
    loss.map(({ kind, count }) => [kind, count]),
    [
      ['lost-samples', '2'],
      ['ring-full', '5'],
    ],
  );
});

test('samples that the recorder could not write are a loss of their own, and none of the kernel', async () => {
  const records = [
    lostRecord(200n, 20n),
    lostSamples(250n, 20n),
    lostSamples(250n, 9n, PERF_RECORD_MISC_LOST_SAMPLES_UNWRITTEN),
  ];
  const { loss, events } = await stats([sample({ time: 100n, cpu: 3 }), ...records], COUNTED);
  assert.deepEqual(
    loss.map(({ kind, event, count, unit, fromNs, exact }) => [kind, event, count, unit, fromNs, exact]),
    [
      ['ring-full', 'cpu-clock', '20', 'records', '100', true],
      ['recorder-stopped', 'cpu-clock', '9', 'samples', '250', true],
    ],
  );
  assert.equal(events[0]?.lost, '20');
});

const FORMAT_LOSS: LossEntry = {
  kind: 'format-map-full',
  event: 'cpu-clock',
  cpu: 1,
  tid: null,
  fromNs: null,
  toNs: '9',
  count: '3671',
  unit: 'samples',
  exact: true,
};

test('entries that the recorder wrote come back as they were', async () => {
  const collision: LossEntry = { ...FORMAT_LOSS, kind: 'format-stack-collision', count: '5', exact: false };
  const recursion: LossEntry = {
    ...FORMAT_LOSS,
    kind: 'format-recursion',
    event: 'x'.repeat(1024),
    unit: 'runs',
  };
  const entries = [FORMAT_LOSS, collision, recursion];
  const { loss, events } = await stats([
    sample({ time: 100n, cpu: 3 }),
    ...entries.map((entry) => lossEntryRecord(entry, at(100n, 0))),
  ]);
  assert.deepEqual(loss, entries);
  // Of those, only the first are samples that are not there.
  assert.equal(events[0]?.lost, '3671');
});

test('an entry that is none is still said, and never throws', async () => {
  const text = JSON.stringify({ version: 1, ...FORMAT_LOSS });
  const spoiled = [
    '',
    'null',
    '[['.repeat(2000),
    '{}',
    text.slice(0, -2),
    text.replace('"version":1', '"version":2'),
    text.replace('format-map-full', 'toString'),
    text.replace('"3671"', '3671'),
    text.replace('"3671"', '"-1"'),
    text.replace('"3671"', '"99999999999999999999"'),
    text.replace('"cpu":1', '"cpu":1e300'),
    text.replace('"cpu-clock"', '{}'),
    text.replace('"exact":true', '"exact":"no"'),
  ];
  for (const one of spoiled) {
    const record = {
      type: PERF_RECORD_LOST_SAMPLES,
      misc: PERF_RECORD_MISC_LOST_SAMPLES_ENTRY,
      lost: 7n,
      tail: new TextEncoder().encode(one.padEnd(Math.ceil(one.length / 8) * 8)),
      sampleId: at(100n, 0),
    } as const;
    const { loss, events } = await stats([record]);
    assert.deepEqual(
      loss.map(({ kind, count, exact }) => [kind, count, exact]),
      [['lost-samples', '7', false]],
      one,
    );
    assert.equal(events[0]?.lost, '7');
  }
});

test('samples that a filter let fall are not lost', async () => {
  const { loss, events } = await stats([lostSamples(0n, 7n, PERF_RECORD_MISC_LOST_SAMPLES_BPF)], COUNTED);
  assert.deepEqual(loss, []);
  assert.equal(events[0]?.lost, '0');
});

test('throttling is time from the one record to the other; without the other it is open', async () => {
  const throttle = (
    type: typeof PERF_RECORD_THROTTLE | typeof PERF_RECORD_UNTHROTTLE,
    time: bigint,
    streamId: bigint,
  ) => ({ type, misc: 0, time, id: 1n, streamId, tail, sampleId: at(time, 1) }) as PerfRecord;
  const { loss } = await stats([
    throttle(PERF_RECORD_THROTTLE, 1000n, 7n),
    throttle(PERF_RECORD_THROTTLE, 1100n, 8n),
    throttle(PERF_RECORD_UNTHROTTLE, 1600n, 7n),
  ]);
  assert.deepEqual(
    loss.map(({ kind, count, fromNs, toNs, exact }) => [kind, count, fromNs, toNs, exact]),
    [
      ['throttled', '600', '1000', '1600', true],
      ['throttled', '0', '1100', null, false],
    ],
  );
});

test('each flag of AUX records that tells of a loss is a kind of its own', async () => {
  const aux = (flags: number): PerfRecord => ({
    type: PERF_RECORD_AUX,
    misc: 0,
    auxOffset: 0n,
    auxSize: 64n,
    flags: BigInt(flags),
    tail,
    sampleId: at(500n, 0),
  });
  const kindsOf = async (...flags: number[]) => {
    const { loss } = await stats(flags.map(aux));
    return loss.map(({ kind, count, unit }) => `${count} ${unit} ${kind}`);
  };
  // 0x100 is a format of CoreSight, and says nothing of loss.
  assert.deepEqual(await kindsOf(0, 0x100), []);
  assert.deepEqual(await kindsOf(PERF_AUX_FLAG_TRUNCATED), ['1 records aux-truncated']);
  // Every record of a snapshot has it: what is older is not wanted.
  assert.deepEqual(await kindsOf(PERF_AUX_FLAG_OVERWRITE), []);
  assert.deepEqual(await kindsOf(PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_TRUNCATED), [
    '1 records aux-truncated',
  ]);
  assert.deepEqual(await kindsOf(PERF_AUX_FLAG_PARTIAL, PERF_AUX_FLAG_COLLISION), [
    '1 records aux-partial',
    '1 records aux-collision',
  ]);
  assert.deepEqual(await kindsOf(PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL), [
    '1 records aux-truncated',
    '1 records aux-partial',
  ]);
});

test('a recording without loss has an empty ledger', async () => {
  const answer = await stats([sample({ time: 1n })]);
  assert.deepEqual(answer.loss, []);
  assert.deepEqual(answer.damage, []);
});
