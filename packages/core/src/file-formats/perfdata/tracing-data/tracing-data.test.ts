import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DamageLog, memorySource } from '../../../base/index.ts';
import { FEATURE_TRACING_DATA } from '../../../format/abi/index.ts';
import { assertQuick } from '../../../test/assert-quick.ts';
import { corpusFiles, lacksCorpus } from '../../../test/corpus.ts';
import { ANSWER_FORMAT, exampleTracingParts } from '../../../test/example-tracing.ts';
import { openPerfData, readRecords } from '../reader/index.ts';
import { encodeTracingData, parseFormat, parseTracingData, type TracingParts } from './index.ts';

for (const littleEndian of [true, false]) {
  for (const longSize of [4, 8]) {
    test(`a blob comes back as it was, ${littleEndian ? 'little' : 'big'}-endian, long of ${longSize}`, () => {
      const parts = { ...exampleTracingParts(), littleEndian, longSize };
      const damage = new DamageLog();
      const { byId, ...read } = parseTracingData(encodeTracingData(parts), damage);
      const { version, ...rest } = read;
      assert.equal(version, '0.6');
      assert.deepEqual(rest, parts);
      assert.deepEqual(
        [...byId.values()].map(({ id, system, name }) => `${id} ${system}:${name}`),
        ['5 ftrace:print', '1234 demo:answer'],
      );
      assert.deepEqual(damage.list(), []);
    });
  }
}

test('a format file gives names, places and kinds of fields', () => {
  const format = parseFormat('demo', ANSWER_FORMAT)!;
  assert.equal(format.id, 1234);
  assert.equal(format.name, 'answer');
  assert.equal(format.printFormat, '"answer=%d who=%s text=%s", REC->answer, REC->who, __get_str(text)');
  const field = (name: string) => format.fields.find((each) => each.name === name);
  assert.deepEqual(field('common_type'), {
    name: 'common_type',
    type: 'unsigned short',
    offset: 0,
    size: 2,
    isSigned: false,
    arrayLength: null,
    dynamic: null,
    isCommon: true,
  });
  assert.deepEqual(field('answer'), {
    name: 'answer',
    type: 'int',
    offset: 8,
    size: 4,
    isSigned: true,
    arrayLength: null,
    dynamic: null,
    isCommon: false,
  });
  assert.deepEqual(
    [field('who')?.type, field('who')?.arrayLength, field('text')?.dynamic, field('more')?.dynamic],
    ['char[16]', 16, 'data', 'relative'],
  );
  assert.deepEqual([field('name')?.type, field('old')?.isSigned], ['const char *', false]);
});

test('text that is not a format is none', () => {
  for (const text of ['', 'name: x', 'ID: 5', 'name: x\nID: many', 'name:\nID: 1']) {
    assert.equal(parseFormat('s', text), null, JSON.stringify(text));
  }
  const lines = ['field:int a; size:4;', 'field:int a; offset:-1; size:4;', 'field int a; offset:0; size:4;'];
  assert.deepEqual(parseFormat('s', ['name: x', 'ID: 1', ...lines].join('\n'))?.fields, []);
});

test('long hostile lines take no longer than they are long', async () => {
  for (const piece of [' ', 'a', 'a ', '[', ']', ';', 'field:', 'offset:']) {
    const line = `\tfield:${piece.repeat(200_000 / piece.length)}`;
    await assertQuick(1000, () => parseFormat('s', `name: x\nID: 1\n${line}\n${line}; offset:1; size:1;`));
  }
});

test('a blob cut anywhere gives what is before the cut, and is counted', () => {
  const blob = encodeTracingData(exampleTracingParts());
  for (let size = 0; size < blob.length; size++) {
    const damage = new DamageLog();
    const { byId } = parseTracingData(blob.subarray(0, size), damage, 99);
    assert.deepEqual(
      damage.list(),
      [{ code: 'bad-tracing-data', count: 1, firstOffset: 99 }],
      `cut at ${size}`,
    );
    assert.ok(byId.size <= 2);
  }
});

test('counts and sizes beyond the blob are not believed', () => {
  const blob = encodeTracingData(exampleTracingParts());
  for (let at = 0; at + 4 <= blob.length; at++) {
    const bad = blob.slice();
    bad.fill(0xff, at, at + 4);
    const { systems, ftraceFormats } = parseTracingData(bad, new DamageLog());
    assert.ok(systems.length + ftraceFormats.length < blob.length);
  }
});

const files = corpusFiles('perfdata/linux-tracepoints');
test('trace metadata of a real recording', {
  skip: lacksCorpus('perfdata/linux-tracepoints/'),
}, async () => {
  const reader = await openPerfData(memorySource(files[0]!.bytes));
  for await (const _ of readRecords(reader)) {
    // The metadata comes among the records.
  }
  const blob = reader.features.raw.get(FEATURE_TRACING_DATA)!;
  const damage = new DamageLog();
  const { byId, version: _, ...parts } = parseTracingData(blob, damage);
  assert.deepEqual(damage.list(), []);
  const names = [...byId.values()].map(({ system, name }) => `${system}:${name}`);
  assert.equal(names.length, 10);
  assert.ok(names.includes('sched:sched_switch'));
  assert.ok(
    [...byId.values()].every(
      ({ fields }) => fields.length > 4 && fields.every(({ name, size }) => name !== '' && size >= 0),
    ),
  );
  // In a pipe the blob is padded to 8.
  const again = encodeTracingData(parts as TracingParts);
  assert.deepEqual(again, blob.slice(0, again.length));
  assert.ok(blob.length - again.length < 8);
});
