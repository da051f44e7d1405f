import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { FlowDecoder, printFlow } from '../flow/index.ts';
import { NO_ERRATA } from '../packets/errata.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk } from './index.ts';

const TIMED = { tsc: true, mtc: true, cyc: true };
const ENCODINGS: EncodingOptions[] = [
  {},
  { returnCompression: false, longTnt: true },
  { deferTips: true },
  { ...TIMED, deferTips: true, longTnt: true, psbBytes: 256 },
];

test('random walks through real programs, decoded by the flow decoder: the same instructions', async (context) => {
  const programs = await loadPrograms();
  if (programs === null) return context.skip('no gzip and libc for x86-64 here');
  const { image, entries } = programs;
  for (const [index, options] of ENCODINGS.entries()) {
    const path = new RandomWalk({ seed: 31 + index, entries, interruptEvery: 40 });
    const encoder = new ExecutionEncoder(image, path, options);
    const trace = joinChunks(encoder.chunks({ instructions: 100_000 }));
    const settings = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84, errata: NO_ERRATA };
    let hash = 0x811c9dc5 | 0;
    const summary = printFlow(
      new FlowDecoder(trace, image, { settings }),
      {
        quiet: true,
        onInstruction: ({ instruction: { ipLo, ipHi } }) => {
          hash = Math.imul(Math.imul(hash ^ ipLo, 0x0100_0193) ^ ipHi, 0x0100_0193);
          return true;
        },
      },
      assert.fail,
    );
    const name = JSON.stringify(options);
    assert.equal(summary.errors.total, 0, name);
    assert.equal(summary.instructions, encoder.truth.instructions, name);
    assert.equal(hash >>> 0, encoder.truth.addressHash, name);
  }
});
