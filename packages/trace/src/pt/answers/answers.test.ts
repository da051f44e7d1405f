/**
 * The compiled graph against the exact decoder and against the truth: the same
 * instructions, branches and errors.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { corpusFiles, corpusText } from '../../../../core/src/test/corpus.ts';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk } from '../execution/index.ts';
import { FlowDecoder, printFlow } from '../flow/index.ts';
import {
  AddressHash,
  profileTrace,
  type RunTraceOptions,
  streamInstructions,
  type TraceProfile,
} from './index.ts';

const OWN = ['base', 'noret', 'long', 'mtc', 'cyc', 'tsc'];
const files = new Map(corpusFiles('pt/own').map(({ name, bytes }) => [name, bytes]));

function ownImage(): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x401000n, bytes: files.get('code.bin')! });
  return image;
}

/** Everything a profile says, as text that can be compared. */
function describe({ profile, errors, overflows }: TraceProfile): string {
  const lines = [...profile.sortedRows()].map((row) => {
    const address = `${profile.hiOf(row) >>> 0}:${(profile.loOf(row) >>> 0).toString(16)}`;
    return profile.executed.at(row) === 0 ? '' : `${address} ${profile.executed.at(row)}`;
  });
  const branches: string[] = [];
  profile.branches.forEach((from, to, count) => {
    branches.push(
      `${(profile.loOf(from) >>> 0).toString(16)}>${(profile.loOf(to) >>> 0).toString(16)} ${count}`,
    );
  });
  return JSON.stringify(
    [profile.totals(), errors, overflows, lines.filter((line) => line !== ''), branches.sort()],
    null,
    1,
  );
}

function bothWays(bytes: Uint8Array, image: CodeImage, options: RunTraceOptions): [string, string] {
  return [
    describe(profileTrace(bytes, image, { ...options, exactOnly: true })),
    describe(profileTrace(bytes, image, options)),
  ];
}

for (const encoding of OWN)
  test(`the whole program, encoding ${encoding}: as the exact decoder, and as it was executed`, () => {
    const truth = JSON.parse(corpusText(`pt/own/${encoding}.json`)!);
    const bytes = files.get(`${encoding}.pt`)!;
    const image = ownImage();
    const [exact, graph] = bothWays(bytes, image, {});
    assert.equal(graph, exact);
    const totals = profileTrace(bytes, image).profile.totals();
    assert.equal(totals.instructions, truth.instructions);
    const hash = new AddressHash();
    streamInstructions(bytes, image, {}, hash.add);
    assert.equal(hash.toString(), truth.hash32);
    assert.equal(hash.count, truth.instructions);
  });

test('damaged traces: the same path, and the same errors at the same places', () => {
  const random = new Random(20261121);
  const image = ownImage();
  let errors = 0;
  for (let round = 0; round < 90; round++) {
    const whole = files.get(`${OWN[round % OWN.length]!}.pt`)!;
    const from = random.below(whole.length - 9000);
    const bytes = whole.slice(from, from + 9000);
    for (let flips = random.below(6); flips >= 0; flips--)
      bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
    const options = { resume: round % 2 === 1 };
    const [exact, graph] = bothWays(bytes, image, options);
    assert.equal(graph, exact, `round ${round}`);
    const counted = profileTrace(bytes, image, options).errors;
    const printed = printFlow(new FlowDecoder(bytes, image), options, () => {}).errors;
    assert.deepEqual(printed.list(), counted, `round ${round}: as printed`);
    errors += counted.length;
  }
  assert.ok(errors > 20, `only ${errors} errors: nothing was damaged`);
});

test('random walks through gzip and libc with interrupts, in every encoding: what was executed', async (context) => {
  const programs = await loadPrograms();
  if (programs === null) return context.skip('no gzip and libc for x86-64 here');
  const encodings: EncodingOptions[] = [
    {},
    { returnCompression: false },
    { longTnt: true, psbBytes: 512 },
    { tsc: true, mtc: true, cyc: true },
  ];
  for (const [seed, options] of encodings.entries()) {
    const path = new RandomWalk({ seed: seed + 5, entries: programs.entries, interruptEvery: 80 });
    const encoder = new ExecutionEncoder(programs.image, path, options);
    const trace = joinChunks(encoder.chunks({ instructions: 300_000 }));
    const { truth } = encoder;
    const name = JSON.stringify(options);
    const [exact, graph] = bothWays(trace, programs.image, {});
    assert.equal(graph, exact, name);
    const found = profileTrace(trace, programs.image);
    assert.deepEqual(found.errors, [], name);
    assert.equal(found.profile.totals().instructions, truth.instructions, name);
    assert.equal(found.profile.totals().calls, truth.calls, name);
    const hash = new AddressHash();
    streamInstructions(trace, programs.image, {}, hash.add);
    assert.equal(Number(hash.toString()), truth.addressHash, name);
  }
});
