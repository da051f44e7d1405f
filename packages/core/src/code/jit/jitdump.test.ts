import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeUtf8, memorySource } from '../../base/index.ts';
import { corpusFiles, lacksCorpus } from '../../test/corpus.ts';
import { jitFrameBytes } from '../../test/jit-frame-bytes.ts';
import { jitDumpBytes } from '../../test/jitdump-bytes.ts';
import { type JitCode, type JitCodeLoad, type JitRecord, parseJitDump, readJitCode } from './index.ts';

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

/** A name as Node 20 writes it: the allocator's pointers are over what was there. */
function overwrite(bytes: Uint8Array, name: string): void {
  const pointers = [0xba, 0xe0, 2, 0, 0, 0, 0, 0, 0xe8, 0x85, 0x85, 0xef, 0xf0, 0x91, 0x34, 0xff];
  for (let at = Buffer.from(bytes).indexOf(`${name}\0`); at !== -1; ) {
    bytes.set(pointers.slice(0, Math.min(16, name.length)), at);
    at = Buffer.from(bytes).indexOf(`${name}\0`, at);
  }
}

const OWN = '/app/a.js';
const INLINED = '/app/node_modules/one/index.js';
const OTHER = '/app/node_modules/two/inlet.js';
function codeWithLines(files: string[], name: string, littleEndian: boolean): Uint8Array {
  const lines = files.map((file, index) => ({
    address: 0x7f00_0000_1040n + BigInt(index),
    line: index + 1,
    discriminator: 0,
    file,
  }));
  const known = { ...(RECORDS[4] as JitCodeLoad), name: `JS:*there ${INLINED}:3:1` };
  const bytes = jitDumpBytes(
    [
      { kind: 'debug-info', time: 1, address: 0x7f00_0000_1000n, lines },
      RECORDS[1]!,
      { ...(RECORDS[2] as JitCodeLoad), name },
      known,
    ],
    littleEndian,
  );
  for (const file of new Set(files)) overwrite(bytes, file);
  return bytes;
}
const filesOf = (bytes: Uint8Array) => {
  const { records, damage } = parseJitDump(bytes);
  assert.deepEqual([records.length, damage.total - damage.count('jitdump-name')], [4, 0]);
  return {
    files: records.flatMap((one) => (one.kind === 'debug-info' ? one.lines.map(({ file }) => file) : [])),
    untold: damage.count('jitdump-name'),
  };
};

for (const littleEndian of [true, false])
  test(`names that V8 overwrote are found in other records, ${littleEndian ? 'little' : 'big'} endian`, () => {
    const name = `JS:*here ${OWN}:1:10`;
    for (const files of [[OWN], [OWN, OWN, OWN], [OWN, INLINED, INLINED, OWN], [INLINED, OWN, INLINED]])
      assert.deepEqual(filesOf(codeWithLines(files, name, littleEndian)), { files, untold: 0 }, files.join());
  });

test('an overwritten name that may be several, or none, is none, and counted', () => {
  // Only its length is left, and the load does not name it.
  assert.deepEqual(filesOf(codeWithLines([OWN, OWN], 'JS:*here /app/b.cjs:1:10', true)), {
    files: ['', ''],
    untold: 2,
  });
  // Its tail is that of no name in the dump.
  assert.deepEqual(filesOf(codeWithLines([OWN, OTHER, OWN], `JS:*here ${OWN}:1:10`, true)), {
    files: [OWN, '', OWN],
    untold: 1,
  });
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

/** `start-end name` of each line, since when. */
const linesOf = ({ map, timeNs }: JitCode) =>
  Array.from(
    { length: map.count },
    (_, line) =>
      `${map.start[line]!.toString(16)}-${map.end[line]!.toString(16)} ${decodeUtf8(map.names.subarray(map.nameStart[line]!, map.nameStart[line + 1]!))} @${timeNs[line]}`,
  );

const loadAt = (time: number, address: bigint, name: string, codeIndex = BigInt(time)): JitCodeLoad => ({
  kind: 'load',
  time,
  pid: 7,
  tid: 7,
  address,
  codeIndex,
  name,
  code: new Uint8Array(16),
  sizeBytes: 16,
});
const moveTo = (time: number, newAddress: bigint, codeIndex: bigint): JitRecord => ({
  kind: 'move',
  time,
  pid: 7,
  tid: 7,
  oldAddress: 0n,
  newAddress,
  sizeBytes: 16n,
  codeIndex,
});
const unwinding: JitRecord = { kind: 'unwinding', time: 1, mappedBytes: 0, ...jitFrameBytes(16, 24) };

for (const littleEndian of [true, false])
  test(`code by time, with its frame information (${littleEndian ? 'little' : 'big'} endian)`, async () => {
    const records: JitRecord[] = [
      { kind: 'debug-info', time: 1, address: 0x1000n, lines: [] },
      unwinding,
      loadAt(20, 0x1000n, 'größe'),
      { kind: 'raw', time: 3, type: 99, body: Uint8Array.of(1) },
      // Threads write when they come to it.
      loadAt(10, 0xffff_8000_0000_1000n, 'two\nlines'),
      moveTo(30, 0x3000n, 20n),
      { kind: 'close', time: 40 },
    ];
    const source = memorySource(jitDumpBytes(records, littleEndian, false));
    const code = await readJitCode(source, { frames: true });
    assert.deepEqual(linesOf(code), [
      '-7ffffffff000--7fffffffeff0 two lines @10',
      '1000-1010 größe @20',
      '3000-3010 größe @30',
    ]);
    assert.deepEqual(
      [code.machine, code.hasArchTimes, code.littleEndian, code.damage.total],
      [62, false, littleEndian, 0],
    );
    const frames = [0, 1, 2].map((line) => code.frameEnd[line]! - code.frameStart[line]!);
    const frameBytes = unwinding.kind === 'unwinding' ? unwinding.data.length - unwinding.headerBytes : 0;
    assert.deepEqual(frames, [0, frameBytes, frameBytes]);
    assert.equal((await readJitCode(source)).frames.length, 0);
  });

test('a dump that is larger than a piece of it is read whole, without its code', async () => {
  const codeBytes = 700_000;
  const header = jitDumpBytes([], true);
  const record = jitDumpBytes([loadAt(1, 0x1000n, 'f')], true).slice(header.length, -16);
  const recordBytes = record.length + codeBytes;
  new DataView(record.buffer).setUint32(4, recordBytes, true);
  new DataView(record.buffer).setUint32(16 + 24, codeBytes, true);
  const all = new Uint8Array(header.length + 5 * recordBytes);
  all.set(header);
  for (let n = 0; n < 5; n++) all.set(record, header.length + n * recordBytes);
  const code = await readJitCode(memorySource(all));
  assert.deepEqual([code.map.count, code.damage.total], [5, 0]);
});

test('moves cannot make more names than the dump has bytes', async () => {
  const moves = Array.from({ length: 200 }, (_, n) => moveTo(n + 2, BigInt(n) << 12n, 1n));
  const bytes = jitDumpBytes([loadAt(1, 0x1000n, 'n'.repeat(60_000)), ...moves], true);
  const code = await readJitCode(memorySource(bytes));
  assert.ok(code.map.names.length <= bytes.length, `${code.map.names.length} of ${bytes.length}`);
  assert.ok(code.damage.count('jitdump-record') > 0);
});
