/** Damaged recordings of Intel PT: nothing is thrown, every scan ends, what was wrong is counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../base/index.ts';
import { openPerfData, writePerfData } from '../perfdata/index.ts';
import { Random } from '../test/random.ts';
import { CodeImage, ExecutionEncoder, ptRecording, RandomWalk } from '../trace/index.ts';
import { parseItrace, scanWithTrace } from './index.ts';

const seconds = Number(process.env['FUZZ_SECONDS'] ?? 1);
const CODE = 0x40_1000n;

/** je +4; call +6; jmp -9; nop...; ret: branches of every kind, and something to come back from. */
const PROGRAM = Uint8Array.of(
  ...[0x74, 0x04, 0xe8, 0x06, 0, 0, 0, 0x75, 0xf7, 0xff, 0xe0, 0x90, 0x90, 0x74, 0x01, 0x90, 0xc3],
);
const files = {
  open: async () => memorySource(new Uint8Array([...new Array(0x1000).fill(0), ...PROGRAM])),
};

function recording(seed: number): Uint8Array<ArrayBuffer> {
  const image = new CodeImage();
  image.addSection({ name: 'a.out', address: CODE, bytes: PROGRAM });
  const entries = Int32Array.of(Number(CODE), 0, Number(CODE) + 13, 0);
  const encoding = { tsc: true, mtc: seed % 2 === 0, cyc: seed % 3 === 0 };
  const walk = new RandomWalk({ seed, entries, interruptEvery: 9 });
  const encoder = new ExecutionEncoder(image, walk, { ...encoding, psbBytes: 128 });
  const trace = Uint8Array.from([...encoder.chunks({ instructions: 900 })].flatMap((chunk) => [...chunk]));
  const mappings = [{ path: '/bin/a.out', address: CODE, sizeBytes: PROGRAM.length, fileOffset: 0x1000 }];
  return writePerfData(ptRecording({ pid: 7, comm: 'a', mappings, trace, encoding }));
}

async function decode(bytes: Uint8Array<ArrayBuffer>, letters: string): Promise<number> {
  let records = 0;
  const source = memorySource(bytes);
  const reader = await openPerfData(source).catch(() => null);
  if (reader === null) return 0;
  const sink = { record: () => void records++ };
  await scanWithTrace(reader, sink, {}, { bytes: source, files, options: parseItrace(letters) });
  return records;
}

test(`damaged recordings of Intel PT for ${seconds} s`, async () => {
  const random = new Random(Date.now() & 0xffff);
  const whole = [recording(1), recording(2), recording(3), recording(6)];
  for (const bytes of whole) assert.ok((await decode(bytes, 'i1i')) > 800);
  const until = performance.now() + seconds * 1000;
  for (let round = 0; performance.now() < until || round < 50; round++) {
    const seed = random.below(1 << 30);
    const from = new Random(seed);
    let bytes = from.pick(whole).slice();
    for (let count = from.below(6); count > 0; count--) bytes[from.below(bytes.length)] = from.below(256);
    if (from.below(3) === 0) bytes = bytes.slice(0, from.below(bytes.length));
    if (from.below(3) === 0)
      bytes.copyWithin(from.below(bytes.length), from.below(bytes.length), bytes.length);
    const letters = from.pick(['i1ibxwpe', 'crg4e', 'il4i3i', 'i1usgZe', 'bqs5e']);
    await decode(bytes, letters).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
  }
});

test('a recording cut anywhere', async () => {
  const bytes = recording(4);
  for (let length = 0; length < bytes.length; length += 211) await decode(bytes.slice(0, length), 'i1ibe');
});
