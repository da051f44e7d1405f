import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { memorySource } from '../../../base/index.ts';
import { decodeSample } from '../../../format/records/index.ts';
import { corpusFiles } from '../../../test/corpus.ts';
import { fixtureRecordings } from '../../../test/fixture-recordings.ts';
import { openPerfData, readRecords } from './index.ts';

/** Enough of a file for all its kinds of records. */
const HEAD_BYTES = 24 << 10;

const files = [...fixtureRecordings(), ...corpusFiles('perfdata')].map(({ name, bytes }) => ({
  name,
  source: memorySource(bytes.slice(0, HEAD_BYTES)),
}));

function asText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint'
      ? `${part}n`
      : part instanceof Uint8Array
        ? Buffer.from(part).toString('hex')
        : part,
  );
}

/** Every sample decoded with fields of its own: what no sample before can have changed. */
async function samplesAlone(source: ReturnType<typeof memorySource>): Promise<string> {
  const hash = createHash('sha1');
  const reader = await openPerfData(source);
  await reader.scan({
    record(view, start, end, type) {
      if (type !== 9) return;
      const event = reader.events.eventOf(view, start, end, type, reader.littleEndian);
      if (event === null) return;
      const sample = decodeSample(view, start, end, event.layout, reader.littleEndian);
      if (sample !== null) hash.update(asText(sample));
    },
  });
  return hash.digest('hex');
}

async function read(source: ReturnType<typeof memorySource>): Promise<{ samples: string; records: string }> {
  const samples = createHash('sha1');
  const records = createHash('sha1');
  for await (const { record } of readRecords(await openPerfData(source))) {
    records.update(asText(record));
    if ('sample' in record) samples.update(asText(record.sample));
  }
  return { samples: samples.digest('hex'), records: records.digest('hex') };
}

test('records are the same whatever was read before them in this process: all ordered pairs of files', async () => {
  assert.ok(files.length >= 9);
  const alone = await Promise.all(files.map(({ source }) => samplesAlone(source)));
  const first: (string | undefined)[] = [];
  for (const before of files) {
    for (const [place, { name, source }] of files.entries()) {
      await read(before.source);
      const { samples, records } = await read(source);
      assert.equal(samples, alone[place], `samples of ${name} after ${before.name}`);
      first[place] ??= records;
      assert.equal(records, first[place], `records of ${name} after ${before.name}`);
    }
  }
});

test('an empty user stack has no size, wherever the record before it ended', async () => {
  const { bytes } = fixtureRecordings().find(({ name }) => name === 'user-stacks')!;
  const stacks: unknown[] = [];
  for await (const { record } of readRecords(await openPerfData(memorySource(bytes))))
    if ('sample' in record) stacks.push([record.sample.userStack, record.sample.userRegisters]);
  const [full, empty] = stacks as [unknown, unknown];
  assert.deepEqual(empty, [
    { bytes: new Uint8Array(), dynamicSize: 0 },
    { abi: 0, registers: [] },
  ]);
  assert.deepEqual(stacks, [full, empty, full, empty]);
});
