import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { findSection, openElf, PT_LOAD, readSectionBytes } from '@counterpoint/core/elf';
import { writePerfData } from '@counterpoint/core/perfdata';
import { addElf, CodeImage } from '@counterpoint/trace/image';
import { calledFunctions, ExecutionEncoder, ptRecording, RandomWalk } from '@counterpoint/trace/intel-pt';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-traced-code-'));
after(() => rmSync(folder, { recursive: true }));

const LIBRARY = '/lib/x86_64-linux-gnu/libc.so.6';
const LOADED_AT = 0x40_0292_4000n;

interface Traced {
  symbol: string;
  samples: number;
  isExact: boolean;
  instructions: { address: string; samples: number; percent: number }[];
}

test('of a hardware trace every instruction is counted: shares are those of perf', {
  skip: perfIsMissing(),
}, async (t) => {
  if (!existsSync(LIBRARY)) {
    t.skip('no libc for x86-64 here');
    return;
  }
  const file = memorySource(new Uint8Array(readFileSync(LIBRARY)));
  const elf = await openElf(file);
  const image = new CodeImage();
  await addElf(image, file, { name: LIBRARY, address: LOADED_AT });
  const text = findSection(elf, '.text')!;
  const code = (await readSectionBytes(elf, text))!;
  const entries = Int32Array.from(calledFunctions(code, LOADED_AT + BigInt(text.address)));
  const encoding = { tsc: true };
  const walk = new RandomWalk({ seed: 5, entries, interruptEvery: 60 });
  const pieces = [...new ExecutionEncoder(image, walk, encoding).chunks({ instructions: 20_000 })];
  const trace = new Uint8Array(Buffer.concat(pieces));
  const mappings = elf.segments
    .filter(({ type, fileSize }) => type === PT_LOAD && fileSize > 0)
    .map((segment) => ({
      path: LIBRARY,
      address: LOADED_AT + BigInt(segment.address),
      sizeBytes: segment.fileSize,
      fileOffset: segment.offset,
    }));
  const bytes = await writePerfData(ptRecording({ pid: 4242, comm: 'walk', mappings, trace, encoding }));
  const path = join(folder, 'walk.data');
  writeFileSync(path, bytes);
  const words = ['annotate', '-i', path, '-d', 'libc.so.6', '--json', '--limit', '8'];
  const { status, out, err } = await counterpoint(...words);
  assert.equal(status, 0, err);
  const functions: Traced[] = JSON.parse(out).functions;
  let compared = 0;
  for (const { symbol, samples, isExact, instructions } of functions) {
    assert.ok(isExact);
    assert.equal(
      instructions.reduce((sum, one) => sum + one.samples, 0),
      samples,
    );
    const text = perf('annotate', '--stdio', '--itrace=i1i', '-i', path, '-s', symbol);
    const theirs = new Map(
      [...text.matchAll(/^ +(\d+\.\d\d) : +([0-9a-f]+): /gm)].map(([, share, at]) => [`0x${at}`, share]),
    );
    // perf has other names for functions that have several.
    if (theirs.size === 0) continue;
    compared++;
    const ours = new Map(instructions.map(({ address, percent }) => [address, percent.toFixed(2)]));
    assert.deepEqual(ours, theirs, symbol);
  }
  assert.ok(compared >= 2, `${compared} of ${functions.length} functions were compared`);
  assert.match((await counterpoint(...words.slice(0, -3))).out, /instructions executed, counted/);
});
