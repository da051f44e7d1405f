import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { hiOf, loOf, memorySource } from '../../../base/index.ts';
import { EM_X86_64, findSection, openElf, PT_LOAD, readSectionBytes } from '../../../elf/index.ts';
import { corpusFiles } from '../../../test/corpus.ts';
import { LibiptOracle, type OracleCode } from '../../../test/libipt-oracle.ts';
import { addElf, CodeImage } from '../../image/index.ts';
import { decodeInstruction, Instruction, KIND_CALL, MODE_64 } from '../../insn/index.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk, RecordedPath } from './index.ts';

const OWN_ADDRESS = 0x401000n;

function concat(chunks: Iterable<Uint8Array>): Uint8Array<ArrayBuffer> {
  const all = [...chunks];
  const bytes = new Uint8Array(all.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of all) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

const ENCODINGS: [string, EncodingOptions][] = [
  ['base', {}],
  ['noret', { returnCompression: false }],
  ['long', { longTnt: true }],
];

test('a real run, encoded again from its addresses: byte for byte what another encoder of the same model wrote', (context) => {
  const files = new Map(corpusFiles('pt/own').map((file) => [file.name, file.bytes]));
  const golden = files.get('golden-ptxed-insn-base.txt.gz');
  if (golden === undefined) return context.skip('the corpus is not here');
  const addresses: number[] = [];
  for (const line of gunzipSync(golden).toString().split('\n'))
    if (/^[0-9a-f]{16}$/.test(line.trim()))
      addresses.push(Number.parseInt(line.slice(8), 16) | 0, Number.parseInt(line.slice(0, 8), 16) | 0);
  assert.equal(addresses.length / 2, 951_482);
  const image = new CodeImage();
  image.addSection({ name: 'program', address: OWN_ADDRESS, bytes: files.get('code.bin')! });
  for (const [name, options] of ENCODINGS) {
    const encoder = new ExecutionEncoder(image, new RecordedPath(Int32Array.from(addresses)), options);
    const bytes = concat(encoder.chunks());
    assert.equal(encoder.truth.instructions, 951_482);
    assert.equal(encoder.truth.addressHash, 0xa37c7740);
    assert.equal(encoder.truth.conditionals, 141_564);
    assert.equal(encoder.truth.taken, 89_891);
    const expected = files.get(`${name}.pt`)!;
    const differs = bytes.findIndex((byte, at) => byte !== expected[at]);
    assert.equal(differs, -1, `${name}: differs at offset ${differs}`);
    assert.equal(bytes.length, expected.length, name);
  }
});

const PROGRAMS: [string, bigint][] = [
  ['/bin/gzip', 0x40_0000_0000n],
  ['/lib/x86_64-linux-gnu/libc.so.6', 0x40_0292_4000n],
];

/** Programs of this machine as the loader places them, with the functions that libc exports and every call's target. */
async function loadPrograms(): Promise<{ image: CodeImage; code: OracleCode[]; entries: Int32Array } | null> {
  const image = new CodeImage();
  const code: OracleCode[] = [];
  const entries: number[] = [];
  for (const [path, address] of PROGRAMS) {
    if (!existsSync(path)) return null;
    const source = memorySource(new Uint8Array(readFileSync(path)));
    const elf = await openElf(source);
    if (elf.machine !== EM_X86_64) return null;
    await addElf(image, source, { name: path, address });
    for (const segment of elf.segments.filter((one) => one.type === PT_LOAD && one.fileSize > 0))
      code.push({
        path,
        offset: segment.offset,
        sizeBytes: segment.fileSize,
        address: address + BigInt(segment.address),
      });
    const text = findSection(elf, '.text');
    assert.ok(text !== null);
    const bytes = (await readSectionBytes(elf, text))!;
    const instruction = new Instruction();
    for (let at = 0; at < bytes.length; ) {
      const size = decodeInstruction(bytes, at, bytes.length, MODE_64, instruction);
      at += Math.max(1, size);
      const target = at + instruction.displacement;
      if (size <= 0 || instruction.kind !== KIND_CALL || target < 0 || target >= bytes.length) continue;
      const entry = address + BigInt(text.address + target);
      entries.push(loOf(entry) | 0, hiOf(entry) | 0);
    }
  }
  return { image, code, entries: Int32Array.from(entries) };
}

const TIMED = { tsc: true, mtc: true, cyc: true };

test('random walks through gzip and libc, in every encoding, decoded by libipt: the same instructions', async (context) => {
  const programs = await loadPrograms();
  if (programs === null) return context.skip('no gzip and libc for x86-64 here');
  const oracle = LibiptOracle.open();
  if (typeof oracle === 'string') return context.skip(oracle);
  const { image, code, entries } = programs;
  const encodings: EncodingOptions[] = [
    {},
    { returnCompression: false },
    { longTnt: true },
    { tsc: true },
    { tsc: true, mtc: true },
    TIMED,
    { ...TIMED, longTnt: true, psbBytes: 256, returnCompression: false },
    { psbBytes: 256, longTnt: true },
  ];
  try {
    for (const [seed, options] of encodings.entries()) {
      const path = new RandomWalk({ seed: seed + 1, entries, interruptEvery: seed % 2 === 0 ? 0 : 50 });
      const encoder = new ExecutionEncoder(image, path, options);
      const trace = concat(encoder.chunks({ instructions: 400_000 }));
      const { truth } = encoder;
      const name = JSON.stringify({ seed, ...options });
      assert.ok(
        truth.conditionals > 10_000 && truth.calls > 1000 && truth.indirects > 50 && truth.interrupts > 0,
        name,
      );
      const found = oracle.decode(trace, code);
      assert.equal(found.errors, 0, `${name}: ${found.firstCode} at ${found.firstError}`);
      assert.equal(found.instructions, truth.instructions, name);
      assert.equal(found.hash, truth.addressHash, name);
      let runs = 0;
      for (const block of encoder.code.all()) runs += block.runs * block.instructions;
      assert.equal(runs, truth.instructions);
    }
  } finally {
    oracle.close();
  }
});
