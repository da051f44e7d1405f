/** Coverage, AutoFDO and branches of a small program with lines: a walk through it, written as a trace. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { memorySource } from '@counterpoint/core/base';
import { addElf, CodeImage } from '@counterpoint/trace/image';
import { ExecutionEncoder, RandomWalk } from '@counterpoint/trace/intel-pt';
import { counterpoint } from '../../../test/command-line.ts';

const PROGRAM = fileURLToPath(new URL('../../../../../../fixtures/dwarf/lines-5.elf', import.meta.url));
/** count() of the program. */
const ENTRY = 0x400150;
const folder = mkdtempSync(join(tmpdir(), 'pt-exports-'));
after(() => rmSync(folder, { recursive: true }));

async function walk(): Promise<{ trace: string; instructions: number }> {
  const image = new CodeImage();
  await addElf(image, memorySource(new Uint8Array(readFileSync(PROGRAM))), { name: 'program' });
  const encoder = new ExecutionEncoder(image, new RandomWalk({ entries: Int32Array.of(ENTRY, 0) }), {});
  const trace = join(folder, 'walk.pt');
  writeFileSync(trace, Buffer.concat([...encoder.chunks({ instructions: 20_000 })]));
  return { trace, instructions: encoder.truth.instructions };
}

test('coverage, functions, AutoFDO and branches, chosen by name or by the file', async () => {
  const { trace, instructions } = await walk();
  const words = ['pt', 'profile', '--elf', PROGRAM];
  const file = join(folder, 'coverage.info');
  const lcov = await counterpoint(...words, '-o', file, trace);
  assert.equal(lcov.status, 0, lcov.err);
  assert.match(lcov.err, /^Wrote .*coverage\.info \(lcov, /m);
  const text = readFileSync(file, 'utf8');
  assert.match(text, /^TN:\nSF:\/src\/count\.c\nFN:3,count\n/);
  assert.match(text, /^DA:4,[1-9]\d+$/m);
  assert.match(text, /^SF:\/src\/twice\.h\n(?:.*\n)*?DA:2,[1-9]/m);

  const functions = await counterpoint(...words, '--format', 'functions', trace);
  assert.match(functions.out, /functions, \d+ of \d+ instructions were executed\n/);
  const fdo = (await counterpoint(...words, '--format', 'autofdo', trace)).out.split('\n');
  const ranges = Number(fdo[0]);
  const count = Number(fdo[ranges + 1]);
  const executed = fdo.slice(ranges + 2, ranges + 2 + count).map((line) => Number(line.split(':')[1]));
  assert.equal(
    executed.reduce((sum, one) => sum + one, 0),
    instructions,
  );
  const branches = await counterpoint(...words, '--format', 'branches', trace);
  assert.match(branches.out, /conditional jump\s+0x[0-9a-f]+ count\+0x/);
  const json = JSON.parse((await counterpoint(...words, '--format', 'branches', '--json', trace)).out);
  assert.equal(json.type, 'pt-branches');
  assert.equal(json.branches.length, branches.out.split('\n').length - 2);
});

test('what is missing is said, with what to do', async () => {
  const { trace } = await walk();
  const none = await counterpoint('pt', 'profile', '--format', 'lcov', trace);
  assert.notEqual(none.status, 0);
  assert.match(none.err, /--elf/);
  const bytes = readFileSync(PROGRAM);
  const at = bytes.indexOf('.debug_line\0');
  bytes.write('.debug_none', at);
  const stripped = join(folder, 'stripped.elf');
  writeFileSync(stripped, bytes);
  const noLines = await counterpoint('pt', 'profile', '--elf', stripped, '--format', 'lcov', trace);
  assert.notEqual(noLines.status, 0);
  assert.match(noLines.err, /no lines of source code/);
  assert.match(noLines.err, /-g, or install its debug symbols/);
  const foreign = join(folder, 'foreign.elf');
  bytes.writeUInt16LE(183, 18);
  writeFileSync(foreign, bytes);
  const ofArm = await counterpoint('pt', 'profile', '--elf', foreign, trace);
  assert.equal(ofArm.status, 1);
  assert.match(ofArm.err, /foreign\.elf is code of AArch64 \(e_machine 183\)/);
  const absent = await counterpoint('pt', 'profile', join(folder, 'absent.pt'));
  assert.match(absent.err, /cannot open .*absent\.pt: no such file or directory/);
  const unknown = await counterpoint('pt', 'profile', '--format', 'gcov', trace);
  assert.match(unknown.err, /lcov +\.info/);
});

test('sums of calls have no timeline: formats that show nothing else are refused', async () => {
  const { trace } = await walk();
  for (const [verb, name] of [
    ['calls', 'perfetto'],
    ['profile', 'chrome'],
  ] as const) {
    const { status, err } = await counterpoint('pt', verb, '--elf', PROGRAM, '-f', name, '-o', '-', trace);
    assert.equal(status, 129, err);
    assert.match(err, /shows what was when.*\n.*pt record/);
  }
});
