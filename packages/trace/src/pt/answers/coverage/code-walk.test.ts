/**
 * Symbols and lines of a hostile file: what they claim is gone over as far as the file has
 * bytes, and not again and again.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { CONTENT_OFFSET, type TinySymbol, tinyElf } from '../../../../../core/src/test/tiny-elf.ts';
import { addElf, CodeImage } from '../../../code/image/index.ts';
import { KIND_CALL } from '../../../code/instructions/index.ts';
import { ExactProfile } from '../exact-profile.ts';
import {
  branchList,
  FileCounts,
  functionCoverage,
  openProgramFile,
  writeBranchJson,
  writeBranchText,
  writeFunctionCoverage,
  writeLcov,
} from './index.ts';

const PT_LOAD = 1;
const PROGBITS = 1;
const EXECUTABLE = 6;

async function openTiny(symbols: TinySymbol[], codeBytes: number, fileSize = codeBytes) {
  const bytes = tinyElf({
    machine: 62,
    sections: [
      {
        name: '.text',
        type: PROGBITS,
        flags: EXECUTABLE,
        address: 0x1000,
        bytes: new Uint8Array(codeBytes).fill(0x90),
      },
    ],
    segments: [{ type: PT_LOAD, offset: CONTENT_OFFSET, address: 0x1000, fileSize }],
    symbols,
  });
  const image = new CodeImage();
  await addElf(image, memorySource(bytes), { name: 'program' });
  const file = await openProgramFile(memorySource(bytes), { name: 'program' });
  return { counts: new FileCounts(new ExactProfile(), file), image };
}

async function coverageOf(...of: Parameters<typeof openTiny>) {
  const { counts, image } = await openTiny(...of);
  return functionCoverage(counts, image);
}

test('a function that claims a terabyte has the instructions that are there', async () => {
  const [one] = await coverageOf([{ name: 'huge', value: 0x1000, size: 2 ** 40 }], 64);
  assert.equal(one!.instructions, 64);
  assert.equal(one!.sizeBytes, 2 ** 40);
});

test('a segment that claims more than the file has ends with the file', async () => {
  const [one] = await coverageOf([{ name: 'huge', value: 0x1000, size: 2 ** 40 }], 64, 2 ** 27);
  // What stands behind the code in the file is no less code.
  assert.ok(one!.instructions >= 64 && one!.instructions < 1000);
});

test('functions that all lie on one another are an error, and soon', async () => {
  const symbols = Array.from({ length: 20_000 }, (_, at) => ({
    name: `f${at}`,
    value: 0x1000 + at,
    size: 100_000,
  }));
  await assert.rejects(coverageOf(symbols, 100_000), { code: 'ERR_SYMBOLS_OVERLAP' });
});

test('names cannot command a terminal, nor be records of their own', async () => {
  const hostile = 'a\u001b[2J\nend_of_record';
  const { counts, image } = await openTiny([{ name: hostile, value: 0x1000, size: 64 }], 64);
  const functions = functionCoverage(counts, image);
  assert.equal(functions[0]!.name, hostile);
  const profile = new ExactProfile();
  const row = profile.rowOf(0x1000, 0);
  profile.executed.data[row] = 1;
  profile.kind.data[row] = KIND_CALL;
  const branches = branchList(profile);
  assert.equal(branches.length, 1);
  const source = {
    path: `/${hostile}`,
    lines: new Map([[1, 1]]),
    functions: new Map([[hostile, { line: 1, executed: 1 }]]),
    branches: new Map(),
  };
  const texts = [
    writeFunctionCoverage(counts, functions),
    writeBranchText(branches, () => hostile),
    writeBranchJson(branches, () => hostile),
    writeLcov([source]),
  ].map((chunks) => [...chunks].join(''));
  for (const text of texts) {
    assert.match(text, /2J/);
    assert.doesNotMatch(text, /\u001b\[2J\nend/);
    assert.ok(!text.includes('\u001b'));
  }
  assert.equal(texts[3]!.match(/^end_of_record$/gm)!.length, 1);
});
