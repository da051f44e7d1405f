import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { corpusFiles, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import { CodeImage } from '../../code/image/index.ts';
import { LibiptOracle } from '../../test/libipt-oracle.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk, RecordedPath } from './index.ts';

const OWN_ADDRESS = 0x401000n;

const ENCODINGS: [string, EncodingOptions][] = [
  ['base', {}],
  ['noret', { returnCompression: false }],
  ['long', { longTnt: true }],
];

test('a real run, encoded again from its addresses: byte for byte what another encoder of the same model wrote', {
  skip: lacksCorpus('pt/own/golden-ptxed-insn-base.txt.gz'),
}, () => {
  const files = new Map(corpusFiles('pt/own').map((file) => [file.name, file.bytes]));
  const golden = files.get('golden-ptxed-insn-base.txt.gz');
  const addresses: number[] = [];
  for (const line of gunzipSync(golden!).toString().split('\n'))
    if (/^[0-9a-f]{16}$/.test(line.trim()))
      addresses.push(Number.parseInt(line.slice(8), 16) | 0, Number.parseInt(line.slice(0, 8), 16) | 0);
  assert.equal(addresses.length / 2, 951_482);
  const image = new CodeImage();
  image.addSection({ name: 'program', address: OWN_ADDRESS, bytes: files.get('code.bin')! });
  for (const [name, options] of ENCODINGS) {
    const encoder = new ExecutionEncoder(image, new RecordedPath(Int32Array.from(addresses)), options);
    const bytes = joinChunks(encoder.chunks());
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
    { deferTips: true },
    { ...TIMED, deferTips: true, longTnt: true },
  ];
  try {
    for (const [seed, options] of encodings.entries()) {
      const path = new RandomWalk({ seed: seed + 1, entries, interruptEvery: seed % 2 === 0 ? 0 : 50 });
      const encoder = new ExecutionEncoder(image, path, options);
      const trace = joinChunks(encoder.chunks({ instructions: 400_000 }));
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

test('a recorded path that the code does not go is refused: empty, cut inside of a block, of other code', () => {
  // nop; nop; jmp to the first.
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x1000n, bytes: Uint8Array.of(0x90, 0x90, 0xeb, 0xfc) });
  const encode = (...addresses: number[]) => {
    const path = new RecordedPath(Int32Array.from(addresses.flatMap((address) => [address, 0])));
    return joinChunks(new ExecutionEncoder(image, path).chunks({}));
  };
  assert.ok(encode(0x1000, 0x1001, 0x1002).length > 0);
  const refused = { code: 'ERR_EXECUTION_PATH' };
  assert.throws(() => encode(), refused);
  assert.throws(() => encode(0x1000, 0x1001), refused);
  assert.throws(() => encode(0x1000, 0x1002), refused);
  assert.throws(() => new RecordedPath(Int32Array.of(1)), refused);
});
