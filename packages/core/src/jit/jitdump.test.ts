import assert from 'node:assert/strict';
import { test } from 'node:test';
import { corpusFiles, lacksCorpus } from '../test/corpus.ts';
import { jitDumpBytes } from '../test/jitdump-bytes.ts';
import { type JitRecord, parseJitDump } from './index.ts';

const RECORDS: JitRecord[] = [
  {
    kind: 'debug-info',
    time: 10,
    address: 0x7f00_0000_1000n,
    lines: [
      { address: 0x7f00_0000_1000n, line: 3, discriminator: 0, file: '/app/größe.js' },
      { address: 0x7f00_0000_1004n, line: 4, discriminator: 1, file: '/app/größe.js' },
      { address: 0x7f00_0000_1008n, line: 1, discriminator: 0, file: 'b.js' },
    ],
  },
  { kind: 'unwinding', time: 11, headerBytes: 4, mappedBytes: 8, data: Uint8Array.of(1, 2, 3, 4, 5) },
  {
    kind: 'load',
    time: 12,
    pid: 7,
    tid: 8,
    address: 0xffff_ffff_8000_0000n,
    codeIndex: 0x1_0000_0002n,
    name: 'f',
    code: Uint8Array.of(0x90, 0xc3),
    sizeBytes: 2,
  },
  {
    kind: 'move',
    time: 13,
    pid: 7,
    tid: 8,
    oldAddress: 0xffff_ffff_8000_0000n,
    newAddress: 0x2000n,
    sizeBytes: 2n,
    codeIndex: 0x1_0000_0002n,
  },
  {
    kind: 'load',
    time: 14,
    pid: 7,
    tid: 8,
    address: 0x3000n,
    codeIndex: 3n,
    name: 'name only',
    code: new Uint8Array(0),
    sizeBytes: 64,
  },
  { kind: 'raw', time: 15, type: 99, body: Uint8Array.of(1, 2, 3) },
  { kind: 'close', time: 16 },
];

for (const littleEndian of [true, false])
  test(`every record, ${littleEndian ? 'little' : 'big'} endian`, () => {
    const dump = parseJitDump(jitDumpBytes(RECORDS, littleEndian));
    assert.deepEqual(dump.records, RECORDS);
    assert.deepEqual(
      { ...dump, records: [], damage: dump.damage.total },
      {
        littleEndian,
        version: 1,
        machine: 62,
        pid: 1234,
        time: 5,
        hasArchTimes: true,
        records: [],
        damage: 0,
      },
    );
  });

test('cut at every byte: whole records before the cut, and the rest is counted', () => {
  const whole = jitDumpBytes(RECORDS, true);
  let most = 0;
  for (let end = 40; end < whole.length; end++) {
    const dump = parseJitDump(whole.slice(0, end));
    assert.deepEqual(dump.records, RECORDS.slice(0, dump.records.length));
    assert.ok(dump.records.length >= most);
    most = dump.records.length;
    assert.ok(dump.damage.count('jitdump-cut') <= 1);
  }
  assert.equal(most, RECORDS.length - 1);
  for (let end = 0; end < 40; end++)
    assert.throws(() => parseJitDump(whole.slice(0, end)), { code: 'ERR_NOT_JITDUMP' });
});

test('a header that says it is longer than the file: no record, and that is counted', () => {
  const bytes = jitDumpBytes(RECORDS, true);
  new DataView(bytes.buffer).setUint32(8, bytes.length + 1, true);
  const dump = parseJitDump(bytes);
  assert.deepEqual([dump.records, dump.damage.count('jitdump-cut')], [[], 1]);
});

test('a record whose parts do not fit is counted and skipped', () => {
  const bytes = jitDumpBytes([RECORDS[2]!, RECORDS[6]!], true);
  // Code size of the first record.
  new DataView(bytes.buffer).setUint32(40 + 16 + 24, 3, true);
  const dump = parseJitDump(bytes);
  assert.deepEqual(dump.records, [RECORDS[6]]);
  assert.equal(dump.damage.count('jitdump-record'), 1);
});

test('two dumps of Julia, one damaged', { skip: lacksCorpus('jit/') }, () => {
  const files = corpusFiles('jit');
  for (const { name, bytes } of files) {
    const dump = parseJitDump(bytes);
    if (name.includes('partial')) {
      // It once went through something that took it for text: every byte above 7f became the three of U+FFFD.
      assert.deepEqual(dump.damage.list(), [{ code: 'jitdump-cut', count: 1, firstOffset: 40 }]);
      continue;
    }
    assert.equal(dump.damage.total, 0);
    const loads = dump.records.filter((one) => one.kind === 'load');
    assert.equal(loads.length, 13);
    for (const load of loads) {
      assert.equal(load.pid, dump.pid);
      assert.equal(load.code.length, load.sizeBytes);
      assert.ok(/^[\x20-\x7e]+$/.test(load.name), load.name);
    }
    const lines = dump.records.filter((one) => one.kind === 'debug-info');
    assert.equal(lines.length, 8);
    assert.equal(lines[1]?.lines[0]?.file, './expr.jl');
  }
});
