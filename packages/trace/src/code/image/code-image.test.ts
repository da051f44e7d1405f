import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CounterpointError, hiOf, loOf, memorySource } from '@counterpoint/core/base';
import { openElf, PT_LOAD, readBuildId } from '@counterpoint/core/elf';
import { type JitRecord, parseJitDump } from '@counterpoint/core/jit';
import type { FileRequest } from '@counterpoint/core/symbols';
import { assertQuick } from '../../../../core/src/test/assert-quick.ts';
import { jitDumpBytes } from '../../../../core/src/test/jitdump-bytes.ts';
import { Random } from '../../../../core/src/test/random.ts';
import { INSN_TRUNCATED, Instruction, MODE_64 } from '../instructions/index.ts';
import {
  addElf,
  addJitCode,
  addKernelCore,
  CodeImage,
  EVERY_ADDRESS_SPACE,
  LATEST,
  offsetIn,
  parseRawCode,
} from './index.ts';

function byteAt(image: CodeImage, address: bigint, time?: number, space?: number): number | null {
  const section = image.find(loOf(address), hiOf(address), time, space);
  if (section === null) return null;
  const offset = offsetIn(section, loOf(address), hiOf(address));
  assert.ok(offset >= 0 && offset < section.sizeBytes);
  assert.equal(section.bytes.length, section.sizeBytes);
  return section.bytes[offset]!;
}

const bytesOf = (value: number, size: number): Uint8Array => new Uint8Array(size).fill(value);

test('what is added later lies on top, and what it does not cover stays', () => {
  const image = new CodeImage();
  image.addSection({ name: 'a', address: 0x1000n, bytes: bytesOf(1, 0x100) });
  image.addSection({ name: 'b', address: 0x1040n, bytes: bytesOf(2, 0x10) });
  assert.equal(byteAt(image, 0xfffn), null);
  assert.equal(byteAt(image, 0x103fn), 1);
  assert.equal(byteAt(image, 0x1040n), 2);
  assert.equal(byteAt(image, 0x1050n), 1);
  assert.equal(byteAt(image, 0x1100n), null);
  const section = image.find(0x1048, 0);
  assert.equal(section?.name, 'b');
  assert.equal(image.find(0x104f, 0), section);
  image.addHole({ name: 'unmapped', address: 0x1000n, sizeBytes: 0x48n });
  assert.equal(byteAt(image, 0x1047n), null);
  assert.equal(byteAt(image, 0x1048n), 2);
});

test('the first and the last address of memory', () => {
  const image = new CodeImage();
  image.addSection({ name: 'last', address: 0xffff_ffff_ffff_fff0n, bytes: bytesOf(7, 32) });
  image.addSection({ name: 'first', address: 0n, bytes: bytesOf(8, 1) });
  assert.equal(byteAt(image, 0xffff_ffff_ffff_ffffn), 7);
  assert.equal(byteAt(image, 0n), 8);
  assert.equal(byteAt(image, 1n), null);
  assert.equal(image.find(-1, -1)?.sizeBytes, 16);
  assert.equal(image.read(-4, -1, new Uint8Array(10)), 4);
});

test('an instruction that begins in one section and ends in the next', () => {
  const image = new CodeImage();
  image.addSection({ name: 'a', address: 0xffff_fffen, bytes: Uint8Array.of(0xe8, 0x10) });
  image.addSection({ name: 'b', address: 0x1_0000_0000n, bytes: Uint8Array.of(0, 0) });
  const instruction = new Instruction();
  assert.equal(image.decode(-2, 0, MODE_64, instruction), INSN_TRUNCATED);
  image.addSection({ name: 'c', address: 0x1_0000_0002n, bytes: Uint8Array.of(0, 0x90) });
  assert.equal(image.decode(-2, 0, MODE_64, instruction), 5);
  assert.equal(instruction.displacement, 0x10);
});

interface NaiveLayer {
  first: bigint;
  size: bigint;
  from: number;
  to: number;
  space: number;
  value: number | null;
}

test('random layers in address, time and space: as a list that is searched from its end', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed);
    const image = new CodeImage();
    const naive: NaiveLayer[] = [];
    // Around a place where the low half wraps, and around the end of memory.
    const base = random.pick([0n, 0xffff_ffc0n, 0xffff_ffff_ffff_ff80n]);
    const count = 1 + random.below(30);
    for (let number = 0; number < count; number++) {
      const first = base + BigInt(random.below(100));
      const size = 1 + random.below(28);
      const from = random.oneIn(3) ? Number.NEGATIVE_INFINITY : random.below(20);
      const to = random.oneIn(2)
        ? Number.POSITIVE_INFINITY
        : from === Number.NEGATIVE_INFINITY
          ? random.below(20)
          : from + random.below(9);
      const space = random.oneIn(2) ? EVERY_ADDRESS_SPACE : random.below(3);
      const placement = { name: `${number}`, address: first, from, to, addressSpace: space };
      const value = random.oneIn(6) ? null : number;
      if (value === null) image.addHole({ ...placement, sizeBytes: BigInt(size) });
      else image.addSection({ ...placement, bytes: bytesOf(value, size) });
      naive.push({ first, size: BigInt(size), from, to, space, value });
      // Asking in between must not keep old answers.
      if (random.oneIn(8)) byteAt(image, base, 0, 1);
    }
    for (let question = 0; question < 600; question++) {
      const address = BigInt.asUintN(64, base + BigInt(random.below(132)));
      const time = random.oneIn(10) ? LATEST : random.below(30) - 1;
      const space = random.below(5) - 1;
      const expected = naive.findLast(
        (one) =>
          address >= one.first &&
          address < one.first + one.size &&
          time >= one.from &&
          time < one.to &&
          (one.space === EVERY_ADDRESS_SPACE || one.space === space),
      );
      const where = `seed ${seed}: ${address.toString(16)} at ${time} in ${space}`;
      assert.equal(byteAt(image, address, time, space), expected?.value ?? null, where);
      const section = image.find(loOf(address), hiOf(address), time, space);
      if (section === null) continue;
      assert.ok(time >= section.fromTime && time < section.toTime, where);
      assert.ok(
        section.bytes.every((byte) => byte === expected?.value),
        where,
      );
    }
  }
});

test('ten thousand versions of the same code are told apart quickly', async () => {
  const image = new CodeImage();
  for (let version = 0; version < 10_000; version++)
    image.addSection({
      name: `v${version}`,
      address: 0x1000n + BigInt(version % 7),
      bytes: bytesOf(version, 64),
      from: version,
    });
  await assertQuick(5000, () => {
    for (let time = 0; time < 10_000; time++)
      assert.equal(image.find(0x1010, 0, time + 0.5)?.name, `v${time}`);
  });
});

test('code that is read when it is asked for', async () => {
  const file = Uint8Array.from({ length: 9 << 20 }, (_, at) => at >> 16);
  let reads = 0;
  const source = {
    size: file.length,
    read: async (offset: number, length: number) => {
      reads += length;
      return file.subarray(offset, offset + length);
    },
  };
  const image = new CodeImage();
  const address = 0xffff_8000_0000_0000n;
  image.addSource({ name: 'core', address, source, offset: 0x10000, sizeBytes: 1 << 30 });
  assert.equal(byteAt(image, address + 0x50_0000n), null);
  assert.equal(image.isWaiting, true);
  assert.equal((await image.load()).parts, 1);
  assert.equal(image.isWaiting, false);
  assert.equal(byteAt(image, address + 0x50_0000n), 0x51);
  assert.ok(reads <= 4 << 20);
  // Beyond the end of the file.
  assert.equal(byteAt(image, address + 0x100_0000n), null);
  await image.load();
  assert.equal(byteAt(image, address + 0x100_0000n), null);
  assert.equal(image.isWaiting, false);
});

test('code of a file: asked for with path and build id, another build is not used', async (context) => {
  const path = '/bin/gzip';
  if (!existsSync(path)) return context.skip(`no ${path}`);
  const bytes = new Uint8Array(readFileSync(path));
  const buildId = await readBuildId(await openElf(memorySource(bytes)));
  const asked: FileRequest[] = [];
  let closed = 0;
  const open = async (request: FileRequest) => {
    asked.push(request);
    return request.path === path ? { ...memorySource(bytes), close: async () => void closed++ } : null;
  };
  for (const [name, id, code] of [
    [path, buildId, undefined],
    [path, '00112233', 'build-id-mismatch'],
    ['/nowhere', '', 'not-found'],
  ] as const) {
    const image = new CodeImage();
    const request: FileRequest = { need: 'binary', path: name, buildId: id, pid: 1, required: true };
    image.addFile({ name, address: 0x5555_0000_3000n, sizeBytes: 0x1000, offset: 0x3000, request });
    assert.equal(byteAt(image, 0x5555_0000_3010n), null);
    assert.deepEqual(image.requests(), [request]);
    const report = await image.load(open);
    assert.equal(report.missing[0]?.code, code);
    assert.equal(byteAt(image, 0x5555_0000_3010n), code === undefined ? bytes[0x3010] : null);
    assert.equal(image.isWaiting, false);
  }
  assert.deepEqual([asked.length, closed], [3, 2]);
});

test('a mapping has whole pages, a file need not; one that lacks a page is cut', async () => {
  const request: FileRequest = { need: 'binary', path: '/a', buildId: '', pid: 1, required: true };
  for (const [fileBytes, code] of [
    [0x4000, undefined],
    [0x3001, undefined],
    [0x3000, 'cut'],
    [0x10, 'cut'],
  ] as const) {
    const image = new CodeImage();
    image.addFile({ name: '/a', address: 0x40_1000n, sizeBytes: 0x3000, offset: 0x1000, request });
    assert.equal(byteAt(image, 0x40_1000n), null);
    const { missing } = await image.load(async () => memorySource(new Uint8Array(fileBytes).fill(7)));
    assert.equal(missing[0]?.code, code, `${fileBytes} bytes`);
  }
});

test('a program is taken as a File, as its bytes or as a source; a stream and a path are refused', async (context) => {
  const path = '/bin/gzip';
  if (!existsSync(path)) return context.skip(`no ${path}`);
  const bytes = new Uint8Array(readFileSync(path));
  for (const file of [bytes, bytes.buffer, new Blob([bytes]), memorySource(bytes)]) {
    const image = new CodeImage();
    assert.ok((await addElf(image, file, { name: path, address: 0x1000n })) > 0);
    assert.equal(byteAt(image, 0x1000n), 0x7f);
  }
  for (const file of [path, new Blob([bytes]).stream(), null])
    await assert.rejects(addElf(new CodeImage(), file as never, { name: path }), { code: 'ERR_INPUT' });
});

test('the segments of an ELF file, where it says and elsewhere', async (context) => {
  const path = '/bin/gzip';
  if (!existsSync(path)) return context.skip(`no ${path}`);
  const bytes = new Uint8Array(readFileSync(path));
  const elf = await openElf(memorySource(bytes));
  for (const address of [null, 0x5555_5555_4000n]) {
    const image = new CodeImage();
    await addElf(image, memorySource(bytes), { name: path, address });
    for (const segment of elf.segments.filter((one) => one.type === PT_LOAD)) {
      const at = (address ?? 0n) + BigInt(segment.address);
      assert.equal(byteAt(image, at), bytes[segment.offset]);
      assert.equal(
        byteAt(image, at + BigInt(segment.fileSize) - 1n),
        bytes[segment.offset + segment.fileSize - 1],
      );
    }
    const core = new CodeImage();
    await addKernelCore(core, memorySource(bytes), { name: 'kcore' });
    assert.equal(byteAt(core, 0n), null);
    await core.load();
    assert.equal(byteAt(core, 0n), 0x7f);
  }
});

test('the text form of raw code', () => {
  assert.deepEqual(parseRawCode('code.bin:0x401000'), {
    path: 'code.bin',
    offset: 0,
    end: null,
    address: 0x401000n,
  });
  assert.deepEqual(parseRawCode('a:b:16:0xffffffff81000000'), {
    path: 'a:b',
    offset: 16,
    end: null,
    address: 0xffff_ffff_8100_0000n,
  });
  assert.deepEqual(parseRawCode('x:0x10-0x20:4096'), { path: 'x', offset: 16, end: 32, address: 4096n });
  for (const bad of [
    '',
    'x',
    'x:',
    ':1',
    'x:0x10-0x10:1',
    'x:010',
    'x:1g',
    'x:0x1ffffffffffffffff',
    'x:99999999999999999999:1',
  ])
    assert.throws(() => parseRawCode(bad), { code: 'ERR_RAW_CODE' }, bad);
});

test('code that a JIT compiler replaces and moves', () => {
  const load = (time: number, address: bigint, codeIndex: bigint, ...code: number[]): JitRecord => ({
    kind: 'load',
    time,
    pid: 1,
    tid: 1,
    address,
    codeIndex,
    name: `f${codeIndex}`,
    code: Uint8Array.from(code),
    sizeBytes: code.length,
  });
  const dump = parseJitDump(
    jitDumpBytes(
      [
        load(10, 0x1000n, 1n, 1, 2, 3, 4),
        load(20, 0x1002n, 2n, 5, 6),
        {
          kind: 'move',
          time: 30,
          pid: 1,
          tid: 1,
          oldAddress: 0x1002n,
          newAddress: 0x1000n,
          sizeBytes: 2n,
          codeIndex: 2n,
        },
      ],
      true,
    ),
  );
  const image = new CodeImage();
  assert.equal(addJitCode(image, dump, { addressSpace: 4, toTime: (time) => time * 10 }), 3);
  const bytesAt = (time: number) => [0, 1, 2, 3].map((at) => byteAt(image, 0x1000n + BigInt(at), time, 4));
  assert.deepEqual(bytesAt(99), [null, null, null, null]);
  assert.deepEqual(bytesAt(100), [1, 2, 3, 4]);
  assert.deepEqual(bytesAt(200), [1, 2, 5, 6]);
  assert.deepEqual(bytesAt(300), [5, 6, 5, 6]);
  assert.equal(byteAt(image, 0x1000n, 300, 5), null);
  assert.equal(image.find(0x1000, 0, 250, 4)?.toTime, 300);
});

test('a damaged ELF file: FormatError or an image, never more memory than it has bytes', async (context) => {
  const path = '/bin/gzip';
  if (!existsSync(path)) return context.skip(`no ${path}`);
  const whole = new Uint8Array(readFileSync(path));
  const random = new Random(7);
  for (let round = 0; round < 300; round++) {
    const bytes = whole.slice(0, random.oneIn(3) ? random.below(4096) : whole.length);
    // ELF header and program headers.
    for (let flips = 1 + random.below(8); flips > 0; flips--)
      bytes[random.below(Math.min(bytes.length, 0x300))] = random.pick([0, 0xff, 0x7f, random.below(256)]);
    let read = 0;
    const inner = memorySource(bytes);
    const source = {
      size: bytes.length,
      read: async (offset: number, length: number) => {
        const part = await inner.read(offset, length);
        read += part.length;
        return part;
      },
    };
    const image = new CodeImage();
    try {
      await addElf(image, source, { name: path, address: 0x1000n });
    } catch (error) {
      assert.ok(error instanceof CounterpointError, String(error));
    }
    assert.ok(read < 512 << 20);
    byteAt(image, 0x1000n);
    byteAt(image, BigInt.asUintN(64, -1n));
    await image.load();
  }
});

test('a snapshot of views that overlap copies what they cover, once', () => {
  const file = new Uint8Array(1 << 16).map((_, at) => at);
  const image = new CodeImage();
  for (let layer = 0; layer < 1000; layer++)
    image.addSection({ name: 'a', address: BigInt(layer) << 20n, bytes: file.subarray(layer) });
  const other = Uint8Array.of(1, 2, 3);
  image.addSection({ name: 'b', address: 1n << 40n, bytes: other });
  const snapshot = image.snapshot();
  const buffers = new Set(snapshot.layers.map(({ bytes }) => bytes!.buffer));
  assert.equal(
    [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0),
    file.length + other.length,
  );
  const copy = CodeImage.of(snapshot);
  const found = copy.find(999 << 20, 999 >>> 12)!;
  assert.deepEqual(found.bytes, file.subarray(999));
  // Two ends of one large file are two small copies.
  const ends = new CodeImage();
  ends.addSection({ name: 'a', address: 0n, bytes: file.subarray(0, 16) });
  ends.addSection({ name: 'a', address: 0x1000n, bytes: file.subarray(-16) });
  assert.deepEqual(
    ends.snapshot().layers.map(({ bytes }) => bytes!.buffer.byteLength),
    [16, 16],
  );
});
