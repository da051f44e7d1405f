/** One recording of three kinds of events of one thread: a clock, a tracepoint, and branch records. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_TYPE_HARDWARE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { decodeRecord, isSample, makeAttr, type SampleRecord } from '@counterpoint/core/records';
import { openRecording } from '../../../host/open/index.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';
import { noTracepoints } from '../../../test/rights.ts';
import { record } from './record.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-mixed-'));
after(() => rmSync(folder, { recursive: true }));

const BRANCH_INSTRUCTIONS = 4n;
const BRANCH_ID = 0xb0b0n;
/** PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY. */
const ANY_BRANCH_OF_USERS = 9n;
/** Of the last branches, a predicted one. */
const PREDICTED = 2n;

/** A recording with branch records beside its own samples: one after each, with the time right behind it. */
async function withBranches(path: string): Promise<{ path: string; branches: number }> {
  const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
  const events = reader.events.events;
  const attrs = events.map(({ attr, ids, name }) => ({ attr, ids: ids.map(BigInt), name }));
  const clock = events.find(({ name }) => /clock/.test(name))!;
  const attr = makeAttr({
    ...clock.attr,
    type: PERF_TYPE_HARDWARE,
    config: BRANCH_INSTRUCTIONS,
    sampleType: clock.attr.sampleType | BigInt(PERF_SAMPLE_BRANCH_STACK),
    branchSampleType: ANY_BRANCH_OF_USERS,
  });
  const own: Uint8Array[] = [];
  const branches: SampleRecord[] = [];
  await reader.scan(
    {
      record(view, start, end, type) {
        if (type === PERF_RECORD_FINISHED_ROUND) return;
        own.push(new Uint8Array(view.buffer, view.byteOffset + start, end - start).slice());
        const event = reader.events.eventOf(view, start, end, type, true);
        if (type !== PERF_RECORD_SAMPLE || event !== clock) return;
        const found = decodeRecord(view, start, end - start, event.layout, true);
        if (!isSample(found)) return;
        const { sample } = found;
        const number = BigInt(branches.length);
        branches.push({
          type: PERF_RECORD_SAMPLE,
          misc: PERF_RECORD_MISC_USER,
          tail: new Uint8Array(),
          sample: {
            ...sample,
            identifier: BRANCH_ID,
            time: sample.time! + 1n,
            branches: [
              { from: 0x1000n + number, to: 0x2000n + number, flags: PREDICTED },
              { from: 0x3000n, to: 0x1000n, flags: PREDICTED },
            ],
          },
        });
      },
    },
    { unordered: true },
  );
  // Made anew, with the third event.
  const { eventDescriptions: _, ...features } = reader.features;
  // As three rings would give them: each in its order, one after the other.
  const bytes = writePerfData({
    attrs: [...attrs, { attr, ids: [BRANCH_ID], name: 'branches:u' }],
    records: [...own, ...branches],
    features,
  });
  const mixed = join(folder, 'mixed.data');
  writeFileSync(mixed, bytes);
  return { path: mixed, branches: branches.length };
}

test('a clock, a tracepoint and branch records of one thread are one stream in order of time', {
  skip: perfIsMissing() || noTracepoints,
}, async () => {
  const output = join(folder, 'own.data');
  await record({
    command: ['dd', 'if=/dev/urandom', 'of=/dev/null', 'bs=64k', 'count=1500', 'status=none'],
    events: 'cpu-clock/period=250000/,syscalls:sys_enter_read/period=1/',
    output,
    buildIds: false,
  });
  const { path, branches } = await withBranches(output);
  assert.ok(branches > 100, `${branches} samples of the clock`);

  await using recording = await openRecording(path);
  const found: { event: string; timeNs: bigint; branches: string }[] = [];
  const reader = await recording.reader();
  await reader.scan({
    record(view, start, end, type) {
      const event = reader.events.eventOf(view, start, end, type, true);
      if (type !== PERF_RECORD_SAMPLE || event === null) return;
      const one = decodeRecord(view, start, end - start, event.layout, true) as SampleRecord;
      const last = (one.sample.branches ?? []).map(
        ({ from, to }) => `${from.toString(16)} ${to.toString(16)}`,
      );
      found.push({ event: event.name, timeNs: one.sample.time!, branches: last.join(' ') });
    },
  });
  assert.ok(found.every(({ timeNs }, at) => at === 0 || timeNs >= found[at - 1]!.timeNs));
  const changes = found.filter(({ event }, at) => at > 0 && event !== found[at - 1]!.event).length;
  assert.ok(changes > 2 * branches, `${changes} changes from one event to another`);

  // perf reads the same order, and the same branches.
  const lines = perf('script', '--ns', '-F', 'time,event,brstack', '-i', path).trim().split('\n');
  const theirs = lines.map((line) => {
    const [, time = '', event = '', rest = ''] =
      /^\s*([\d.]+):\s+(\S+):\s*(.*)$/.exec(line) ?? assert.fail(line);
    const addresses = [...rest.matchAll(/0x([0-9a-f]+)\/0x([0-9a-f]+)\//g)].map(
      ([, from, to]) => `${from} ${to}`,
    );
    return { event, timeNs: BigInt(time.replace('.', '')), branches: addresses.join(' ') };
  });
  assert.deepEqual(found, theirs);

  // Each is reported for itself.
  const { profile } = await recording.profile();
  const samples = new Map(profile.events.map(({ name, samples: own }) => [name, own]));
  for (const name of new Set(found.map(({ event }) => event)))
    assert.equal(samples.get(name), found.filter(({ event }) => event === name).length, name);
});
