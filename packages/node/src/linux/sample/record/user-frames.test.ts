/**
 * Chains that the handler of `stacks` finds itself, against those that the kernel finds, of programs with
 * frames as they should not be.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { commandLineProcess } from '../../../test/command-line.ts';
import { noFormats, recordSamples } from '../../../test/format-recording.ts';
import { besideCuts } from '../../../test/losses.ts';
import { liveHandles } from '../../kernel/sys/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-frames-'));
after(() => rmSync(folder, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));
const skip = noFormats || (process.arch === 'x64' ? false : 'programs of x86');

const CODE_AT = 0x40_0000;
const PERIOD_NS = 500_000;
/** Two pages; behind them nothing is mapped. */
const STACK_AT = 0x1000_0000;
const STACK_BYTES = 8192;
const STACK_END = STACK_AT + STACK_BYTES;
/** About a tenth of a second of a loop of two instructions. */
const ROUNDS = 100_000_000;

/** Little-endian. */
const hex = (value: number, bytes: number) =>
  Buffer.from(
    BigInt(value)
      .toString(16)
      .padStart(2 * bytes, '0'),
    'hex',
  )
    .reverse()
    .toString('hex');

// Both pages are touched (what is not in memory no one walks through), the frame pointer is
// set, then a loop, then exit(0).
const WIDE = (frame: number) =>
  `8b0425 ${hex(STACK_AT, 4)} 8b0425 ${hex(STACK_AT + 4096, 4)} 48bd ${hex(frame, 8)} b9 ${hex(ROUNDS, 4)} ffc9 75fc 31ff b83c000000 0f05`;
const NARROW = (frame: number) =>
  `${'90'.repeat(9)} a1 ${hex(STACK_AT, 4)} a1 ${hex(STACK_AT + 4096, 4)} bd ${hex(frame, 4)} b9 ${hex(ROUNDS, 4)} 49 75fd 31db b801000000 cd80`;
const LOOP_AT = CODE_AT + 29;

/** Each at an address, with the caller's frame and the return address; these count up from here. */
type Frames = readonly (readonly [at: number, caller: bigint | number, returnAddress?: bigint])[];
const RETURN_AT = 0x40_1000;

/** A program that turns in a loop with its frame pointer on the first of the frames. */
function program(frames: Frames, bits: 64 | 32): Uint8Array {
  const isWide = bits === 64;
  const [headerBytes, segmentBytes] = isWide ? [64, 56] : [52, 32];
  const file = new Uint8Array(8192 + STACK_BYTES);
  const view = new DataView(file.buffer);
  const word = (at: number, value: bigint | number) => {
    if (isWide) view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
    else view.setUint32(at, Number(BigInt.asUintN(32, BigInt(value))), true);
  };
  const code = (isWide ? WIDE : NARROW)(frames[0]![0]);
  file.set([0x7f, 0x45, 0x4c, 0x46, isWide ? 2 : 1, 1, 1]);
  view.setUint16(16, 2, true);
  view.setUint16(18, isWide ? 62 : 3, true);
  view.setUint32(20, 1, true);
  word(24, CODE_AT);
  const wordBytes = bits / 8;
  word(24 + wordBytes, headerBytes);
  const tail = 24 + 3 * wordBytes + 4;
  [headerBytes, segmentBytes, 2].forEach((value, index) => {
    view.setUint16(tail + 2 * index, value, true);
  });
  const segment = (index: number, flags: number, offset: number, address: number, size: number) => {
    const at = headerBytes + index * segmentBytes;
    view.setUint32(at, 1, true);
    const places = isWide ? [8, 16, 24, 32, 40, 48] : [4, 8, 12, 16, 20, 28];
    [offset, address, address, size, size, 4096].forEach((value, field) => {
      word(at + places[field]!, value);
    });
    view.setUint32(at + (isWide ? 4 : 24), flags, true);
  };
  segment(0, 5, 4096, CODE_AT, 4096);
  segment(1, 6, 8192, STACK_AT, STACK_BYTES);
  file.set(Buffer.from(code.replaceAll(' ', ''), 'hex'), 4096);
  frames.forEach(([at, caller, returnAddress], index) => {
    const offset = 8192 + at - STACK_AT;
    if (offset < 8192) return;
    if (offset + wordBytes <= file.length) word(offset, caller);
    if (offset + 2 * wordBytes <= file.length) word(offset + wordBytes, returnAddress ?? RETURN_AT + index);
  });
  return file;
}

function writeProgram(name: string, frames: Frames, bits: 64 | 32 = 64): string {
  const path = join(folder, name);
  writeFileSync(path, program(frames, bits));
  chmodSync(path, 0o755);
  return path;
}

/** The chains of the loop, without the address that was interrupted. */
async function chainsOf(command: string | readonly string[], formats: readonly string[]): Promise<string[]> {
  const { result, events } = await recordSamples({
    command: typeof command === 'string' ? [command] : command,
    events: 'cpu-clock:u',
    ...{ period: PERIOD_NS, callGraph: true, formats },
  });
  // Frames in a circle are as many as the kernel gives: that is a loss, and the point here.
  assert.deepEqual(besideCuts(result.loss), []);
  const { samples } = events[0]!;
  const ofLoop = samples.filter(({ ip }) => ip! >= LOOP_AT && ip! < CODE_AT + 4096);
  const loopNs = ofLoop.reduce((sum, { period }) => sum + Number(period ?? PERIOD_NS), 0);
  assert.ok(loopNs > 10e6, `${loopNs} ns in the loop`);
  return [...new Set(ofLoop.map(({ callchain }) => [callchain![0], ...callchain!.slice(2)].join(' ')))];
}

const CASES: Readonly<Record<string, readonly [frames: Frames, callers: number]>> = {
  'one after the other over many blocks': [
    Array.from({ length: 38 }, (_, n) => [
      STACK_AT + 16 + 208 * n,
      n === 37 ? 0 : STACK_AT + 16 + 208 * (n + 1),
    ]),
    38,
  ],
  'a large step, and no block behind the last': [
    [
      [STACK_AT + 16, STACK_END - 16],
      [STACK_END - 16, 0],
    ],
    2,
  ],
  'on both sides of the end of a page': [
    [
      [STACK_AT + 32, STACK_AT + 4096 - 8],
      [STACK_AT + 4096 - 8, 0],
    ],
    2,
  ],
  'the last lies half outside': [
    [
      [STACK_END - 80, STACK_END - 8],
      [STACK_END - 8, 0],
    ],
    1,
  ],
  'round in a circle: as many as the kernel gives': [[[STACK_AT + 160, STACK_AT + 160]], 126],
  backwards: [
    [
      [STACK_AT + 4096, STACK_AT + 64],
      [STACK_AT + 64, 0],
    ],
    2,
  ],
  'at odd addresses': [
    [
      [STACK_AT + 17, STACK_AT + 1001],
      [STACK_AT + 1001, 1],
    ],
    2,
  ],
  'where nothing is mapped': [[[STACK_AT + 64, STACK_END + 4096]], 1],
  'into the kernel': [[[STACK_AT + 64, 0xffff_ffff_8100_0000n]], 1],
  'at no address at all': [[[STACK_AT + 64, 0x4000_0000_0000_0000n]], 1],
  'at the highest of all': [[[STACK_AT + 64, -1n]], 1],
  none: [[[4095, 0]], 0],
};

for (const [name, [frames, callers]] of Object.entries(CASES))
  test(`frames ${name}`, { skip }, async () => {
    const path = writeProgram(name.replaceAll(/\W+/g, '-'), frames);
    const [found] = await chainsOf(path, ['stacks']);
    assert.equal(found!.split(' ').length, 1 + callers, found);
    assert.deepEqual(await chainsOf(path, ['ring']), [found]);
  });

test('two chains that differ in the highest bits of two return addresses are two', { skip }, async () => {
  const highest = 1n << 63n;
  const paths = [0n, highest].map((bit) =>
    writeProgram(`highest-${bit}`, [
      [STACK_AT + 16, STACK_AT + 96, 1n | bit],
      [STACK_AT + 96, 0, 2n | bit],
    ]),
  );
  const found = await chainsOf(['sh', '-c', paths.join('; ')], ['stacks']);
  assert.deepEqual(
    // By CPU, and so in any order.
    found.map((chain) => chain.split(' ').slice(1)).sort(([one], [other]) => one!.length - other!.length),
    [
      ['1', '2'],
      [`${1n | highest}`, `${2n | highest}`],
    ],
  );
});

test('beside what is not mapped no frame costs a read that fails', { skip }, async () => {
  const path = writeProgram('beside', [[STACK_END - 16, STACK_END - 16]]);
  const counts = join(folder, 'faults.json');
  // Of the program alone: a read of the kernel that fails is a page fault of the kernel.
  const stat = ['stat', '-o', counts, '--json', '-e', 'exceptions:page_fault_kernel', path];
  const { result, events } = await recordSamples({
    command: [process.execPath, ...commandLineProcess(), ...stat],
    events: 'cpu-clock:u',
    ...{ period: PERIOD_NS, callGraph: true, formats: ['stacks'] },
    launch: { stdio: ['ignore', 'ignore', 'ignore'] },
  });
  // Frames in a circle are as many as the kernel gives: that is a loss, and the point here.
  assert.deepEqual(besideCuts(result.loss), []);
  const ofLoop = events[0]!.samples.filter(({ callchain }) => callchain!.length === 128);
  const overflows = ofLoop.reduce((sum, { period }) => sum + Number(period), 0) / PERIOD_NS;
  assert.ok(overflows > 20, `${overflows} overflows`);
  const faults = Number(JSON.parse(readFileSync(counts, 'utf8')).rows[0].count);
  assert.ok(faults < 20 + 2 * overflows, `${faults} faults at ${overflows} overflows`);
});

test('code of 32 bits has frames of its own', { skip }, async (t) => {
  const path = writeProgram(
    'narrow',
    [
      [STACK_AT + 16, STACK_AT + 96],
      [STACK_AT + 96, 0],
    ],
    32,
  );
  const { status, error } = spawnSync(path, { timeout: 30_000 });
  // What the kernel does not execute is given to a shell, which does not understand it.
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOEXEC' || status === 2)
    return t.skip('this kernel runs no 32-bit programs');
  assert.equal(status, 0, String(error));
  const found = await chainsOf(path, ['stacks']);
  assert.equal(found[0]!.split(' ').length, 3);
  assert.deepEqual(await chainsOf(path, ['ring']), found);
});
