/**
 * The self-made program in six encodings: every instruction, by count, hash and
 * checkpoints, and two whole listings.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { corpusFiles, corpusText, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import { CodeImage } from '../../code/image/index.ts';
import { NO_ERRATA } from '../packets/errata.ts';
import { FlowDecoder } from './flow-decoder.ts';
import type { FlowOptions } from './flow-options.ts';
import { type PrintFlowOptions, printFlow } from './print-flow.ts';

const files = new Map(corpusFiles('pt/own').map(({ name, bytes }) => [name, bytes]));
const settings = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84, errata: NO_ERRATA };

function decoderOf(encoding: string, options: FlowOptions = {}): FlowDecoder {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x401000n, bytes: files.get('code.bin')! });
  return new FlowDecoder(files.get(`${encoding}.pt`)!, image, { settings, ...options });
}

function lines(text: string): string[] {
  return text.trim().split('\n');
}

for (const encoding of ['base', 'noret', 'long', 'mtc', 'cyc', 'tsc'])
  test(`every instruction of the encoding ${encoding}`, () => {
    const truth = JSON.parse(corpusText(`pt/own/${encoding}.json`)!);
    const checkpoints = lines(corpusText(`pt/own/${encoding}.checkpoints.csv`)!).slice(1);
    const decoder = decoderOf(encoding);
    let hash = 0x811c9dc5 | 0;
    let count = 0;
    let passed = 0;
    const summary = printFlow(
      decoder,
      {
        quiet: true,
        onInstruction: ({ instruction: { ipLo, ipHi } }) => {
          if (count % 10_000 === 0)
            assert.equal(
              `${count},${(ipLo >>> 0).toString(16)},${(hash >>> 0).toString(16).padStart(8, '0')}`,
              checkpoints[passed++],
            );
          hash = Math.imul(Math.imul(hash ^ ipLo, 0x01000193) ^ ipHi, 0x01000193);
          count++;
          return true;
        },
      },
      assert.fail,
    );
    assert.equal(passed, checkpoints.length);
    assert.equal(summary.instructions, truth.instructions);
    assert.equal(`0x${(hash >>> 0).toString(16)}`, truth.hash32);
    assert.equal(summary.errors.total, 0);
  });

function compareListing(name: string, decoder: FlowDecoder, options: PrintFlowOptions): void {
  const expected = lines(gunzipSync(files.get(name)!).toString());
  let at = 0;
  printFlow(decoder, options, (line) => {
    if (line !== expected[at]) assert.equal(line, expected[at], `line ${at + 1}`);
    at++;
  });
  assert.equal(at, expected.length);
}

test('a listing of instructions', { skip: lacksCorpus('pt/own/golden-ptxed-insn-base.txt.gz') }, () =>
  compareListing('golden-ptxed-insn-base.txt.gz', decoderOf('base'), { eventIp: true }),
);

test(
  'a listing of blocks, with time',
  { skip: lacksCorpus('pt/own/golden-ptxed-block-time-mtc.txt.gz') },
  () =>
    compareListing('golden-ptxed-block-time-mtc.txt.gz', decoderOf('mtc', { ticks: true }), {
      time: true,
      eventTime: true,
      eventIp: true,
      blocks: { show: true },
    }),
);

test('taken over at every chance and given back, it goes the same way', () => {
  const truth = JSON.parse(corpusText('pt/own/mtc.json')!);
  const decoder = decoderOf('mtc');
  let hash = 0x811c9dc5 | 0;
  let count = 0;
  let released = 0;
  assert.equal(decoder.synchronize(), 0);
  for (;;) {
    const code = decoder.step();
    if (code < 0) break;
    if (code !== 1) continue;
    const { ipLo, ipHi } = decoder.instruction;
    hash = Math.imul(Math.imul(hash ^ ipLo, 0x01000193) ^ ipHi, 0x01000193);
    if (++count % 3 !== 0 || !decoder.release()) continue;
    released++;
    decoder.adopt();
  }
  assert.ok(released > truth.instructions / 10, `${released}`);
  assert.equal(count, truth.instructions);
  assert.equal(`0x${(hash >>> 0).toString(16)}`, truth.hash32);
});
