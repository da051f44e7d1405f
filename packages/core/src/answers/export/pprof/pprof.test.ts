import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { NONE, type Profile } from '../../../profile/tables/index.ts';
import { collectBytes } from '../../../test/collect.ts';
import { bigProfile, hostileProfile, smallProfile } from '../../../test/example-profile.ts';
import { assertGolden } from '../../../test/golden.ts';
import { bytesOf, numberOf, readMessage, readPacked } from '../../../test/read-protobuf.ts';
import type { ExportOptions } from '../options.ts';
import * as fields from './fields.ts';
import { encodePprof, writePprof } from './pprof.ts';
import { MessageWriter } from './protobuf.ts';

/** A profile.proto as text, in its own order, with strings and ids resolved. */
function dump(bytes: Uint8Array): string[] {
  const profile = readMessage(bytes);
  const strings = bytesOf(profile, fields.PROFILE_STRING_TABLE).map((text) => new TextDecoder().decode(text));
  const all = (field: number) => bytesOf(profile, field).map(readMessage);
  const text = (entry: ReturnType<typeof readMessage>, field: number) => {
    const name = strings[Number(numberOf(entry, field))];
    assert.notEqual(name, undefined, 'a string index is out of range');
    return name!;
  };
  const hex = (value: bigint) => `0x${value.toString(16)}`;
  const functions = new Map(
    all(fields.PROFILE_FUNCTION).map((entry) => [
      numberOf(entry, fields.FUNCTION_ID),
      `${text(entry, fields.FUNCTION_NAME)} (${text(entry, fields.FUNCTION_SYSTEM_NAME)}) ` +
        `${text(entry, fields.FUNCTION_FILENAME)}:${numberOf(entry, fields.FUNCTION_START_LINE)}`,
    ]),
  );
  const mappings = new Map(
    all(fields.PROFILE_MAPPING).map((entry) => [
      numberOf(entry, fields.MAPPING_ID),
      [
        text(entry, fields.MAPPING_FILENAME),
        hex(numberOf(entry, fields.MAPPING_MEMORY_START)),
        hex(numberOf(entry, fields.MAPPING_MEMORY_LIMIT)),
        text(entry, fields.MAPPING_BUILD_ID),
        numberOf(entry, fields.MAPPING_HAS_FUNCTIONS),
      ].join(' '),
    ]),
  );
  const locations = new Map(
    all(fields.PROFILE_LOCATION).map((entry) => {
      const mapping = numberOf(entry, fields.LOCATION_MAPPING_ID);
      assert.ok(mappings.has(mapping), 'a location without mapping');
      const lines = bytesOf(entry, fields.LOCATION_LINE).map((line) => {
        const known = functions.get(numberOf(readMessage(line), fields.LINE_FUNCTION_ID));
        assert.notEqual(known, undefined, 'a line without function');
        return known;
      });
      const address = hex(numberOf(entry, fields.LOCATION_ADDRESS));
      return [numberOf(entry, fields.LOCATION_ID), [address, `mapping ${mapping}`, ...lines].join(' ')];
    }),
  );
  const types = all(fields.PROFILE_SAMPLE_TYPE);
  const samples = all(fields.PROFILE_SAMPLE).map((entry) => {
    const ids = bytesOf(entry, fields.SAMPLE_LOCATION_ID).flatMap(readPacked);
    for (const id of ids) assert.ok(locations.has(id), 'a sample without location');
    const values = bytesOf(entry, fields.SAMPLE_VALUE).flatMap(readPacked);
    assert.equal(values.length, types.length);
    const labels = bytesOf(entry, fields.SAMPLE_LABEL).map((label) => {
      const parts = readMessage(label);
      return `${text(parts, fields.LABEL_KEY)}=${text(parts, fields.LABEL_STR) || numberOf(parts, fields.LABEL_NUM)}`;
    });
    return `sample ${values.join(' ')} [${labels.join(' ')}] ${ids.join(' ')}`;
  });
  const type = (entry: ReturnType<typeof readMessage>) =>
    `${text(entry, fields.VALUE_TYPE_TYPE)}/${text(entry, fields.VALUE_TYPE_UNIT)}`;
  const comments = profile
    .filter((entry) => entry.field === fields.PROFILE_COMMENT)
    .map((entry) => `comment ${strings[Number(entry.value)]}`);
  return [
    `types ${types.map(type).join(' ')}, default ${text(profile, fields.PROFILE_DEFAULT_SAMPLE_TYPE)}`,
    `period ${numberOf(profile, fields.PROFILE_PERIOD)} ${all(fields.PROFILE_PERIOD_TYPE).map(type).join()}`,
    `time ${numberOf(profile, fields.PROFILE_TIME_NANOS)} duration ${numberOf(profile, fields.PROFILE_DURATION_NANOS)}`,
    ...comments,
    ...[...mappings].map(([id, words]) => `mapping ${id} ${words}`),
    ...[...locations].map(([id, words]) => `location ${id} ${words}`),
    ...samples,
  ];
}

function encoded(profile: Profile, options?: ExportOptions): Uint8Array<ArrayBuffer> {
  return collectBytes(encodePprof(profile, options));
}

test('varints are those of a slow twin', () => {
  const slow = (value: bigint): number[] =>
    value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...slow(value >> 7n)];
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), (value) => {
      const message = new MessageWriter();
      message.uint64(1, Number(value & 0xffff_ffffn), Number(value >> 32n));
      assert.deepEqual([...message.out.take()], [8, ...slow(value)]);
    }),
  );
  for (const value of [1, 127, 128, 2 ** 28 - 1, 2 ** 28, 2 ** 32, 2 ** 35, 2 ** 53 - 1]) {
    const message = new MessageWriter();
    message.number(1, value);
    assert.deepEqual([...message.out.take()], [8, ...slow(BigInt(value))]);
  }
});

test('the small profile', () => {
  assertGolden('export/small.pprof.txt', `${dump(encoded(smallProfile())).join('\n')}\n`);
});

test('equal stacks of a thread are one sample, and nothing is left out', () => {
  const profile = bigProfile(20_000, 5000);
  const samples = dump(encoded(profile)).filter((line) => line.startsWith('sample '));
  const sum = (column: number) => samples.reduce((total, line) => total + Number(line.split(' ')[column]), 0);
  assert.equal(sum(1), 20_000);
  assert.equal(sum(2), 20_000 * 250_000);
  const pairs = new Set<number>();
  for (let sample = 0; sample < profile.samples.length; sample++) {
    pairs.add(profile.samples.thread.at(sample) * 1e9 + profile.samples.stack.at(sample));
  }
  assert.equal(samples.length, pairs.size);
});

test('gzip is what the caller hands in, over the same bytes', async () => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of writePprof(smallProfile(), { compress: async (bytes) => gzipSync(bytes) })) {
    chunks.push(chunk);
  }
  assert.deepEqual(new Uint8Array(gunzipSync(Buffer.concat(chunks))), encoded(smallProfile()));
});

test('by samples, the samples are what is shown first', () => {
  assert.match(dump(encoded(smallProfile(), { weight: 'samples' }))[0]!, /default samples$/);
});

test('hostile names and addresses up to 2^64 - 1 come back', () => {
  const lines = dump(encoded(hostileProfile()));
  assert.ok(
    lines.some(
      (line) =>
        line.startsWith('location 2 0xffffffffffffffff') || line.includes(' 0xffffffffffffffff mapping '),
    ),
  );
  assert.ok(lines.some((line) => line.includes('</script><script>alert(1)</script>')));
  assert.equal(lines.filter((line) => line.startsWith('sample ')).length, 16);
});

test('no sample at all', () => {
  const profile = smallProfile();
  const lines = dump(
    encoded(profile, { event: profile.events.push({ ...profile.events[0]!, name: 'none' }) - 1 }),
  );
  assert.equal(lines.filter((line) => line.startsWith('sample ')).length, 0);
});

const go = spawnSync('go', ['tool', '-n', 'pprof'], { encoding: 'utf8' });
const noGo = go.status === 0 ? false : 'go tool pprof is not installed';

test('pprof itself reads it', { skip: noGo }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-pprof-'));
  try {
    const file = join(folder, 'small.pb.gz');
    writeFileSync(file, gzipSync(encoded(smallProfile())));
    const run = (...words: string[]) =>
      spawnSync('go', ['tool', 'pprof', '-symbolize=none', ...words, file], { encoding: 'utf8' });
    const top = run('-top', '-unit=us');
    assert.equal(top.status, 0, top.stderr);
    assert.match(top.stdout, /Type: cpu-clock/);
    assert.match(top.stdout, /13000us 42\.98% 42\.98% {4}13000us 42\.98% {2}fib/);
    assert.match(
      run('-comments').stdout,
      /1,204 records \(samples and others\) lost because the ring buffer was full/,
    );
    assert.match(run('-tags').stdout, /DelayedTaskSche/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('stacks without any frame keep their weight', () => {
  const profile = smallProfile();
  profile.samples.stack.data.fill(NONE);
  const samples = dump(encoded(profile)).filter((line) => line.startsWith('sample '));
  assert.equal(
    samples.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0),
    121,
  );
});
