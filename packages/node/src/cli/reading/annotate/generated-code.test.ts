import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const PROGRAM = `'use strict';
function inner(a, b) {
  return (a * 31 + b) | 0;
}
function work(n) {
  let t = 0;
  for (let i = 0; i < n; i++) {
    if (i % 3 === 0)
      t = inner(t, i);
    else
      t ^= i;
  }
  return t;
}
let s = 0;
for (let round = 0; round < 300; round++) s ^= work(1e6);
`;

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-generated-'));
after(() => rmSync(folder, { recursive: true }));
const data = join(folder, 'work.data');

before(() => {
  writeFileSync(join(folder, 'work.js'), PROGRAM);
  const words = ['record', '-q', '-e', 'cpu-clock:u', '-F', '2000', '-o', data, '--'];
  const program = [process.execPath, '--perf-prof', 'work.js'];
  const all = [...commandLineProcess(), ...words, ...program];
  // V8 writes its dump into the folder that it runs in.
  const { status, stderr } = spawnSync(process.execPath, all, { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

interface Instruction {
  address: string;
  bytes: string;
  samples: number;
  frames: { file: string; line: number }[];
}
interface Copy {
  recordedName: string;
  samples: number;
  instructions?: Instruction[];
  missing?: { detail: string };
}

test('code of V8 is shown out of the dump that it wrote, with lines of JavaScript', async () => {
  const { status, out, err } = await counterpoint('annotate', '-i', data, '--json', 'work');
  assert.equal(status, 0, err);
  const copies: Copy[] = JSON.parse(out).functions;
  const hottest = copies[0]!;
  assert.match(hottest.recordedName, /^JS:\*?work /);
  const instructions = hottest.instructions!;
  assert.equal(
    instructions.reduce((sum, { samples }) => sum + samples, 0),
    hottest.samples,
  );
  assert.ok(hottest.samples > 20);
  // The same bytes, by another disassembler.
  const file = join(folder, 'code');
  writeFileSync(
    file,
    Buffer.from(
      instructions
        .map(({ bytes }) => bytes)
        .join('')
        .replaceAll(' ', ''),
      'hex',
    ),
  );
  const start = instructions[0]!.address;
  const words = ['-D', '-b', 'binary', '-m', process.arch === 'x64' ? 'i386:x86-64' : 'aarch64'];
  const { stdout } = spawnSync('objdump', [...words, `--adjust-vma=${start}`, '-w', file], {
    encoding: 'utf8',
  });
  const rows = [...stdout.matchAll(/^ *([0-9a-f]+):\t(?!.*\(bad\))/gm)].map(([, address]) => `0x${address}`);
  const hot = instructions.filter(({ samples }) => samples > 0);
  for (const { address } of hot) assert.ok(rows.includes(address), `${address} is inside of an instruction`);
  const lines = new Set(instructions.flatMap(({ frames }) => frames.map(({ line }) => line)));
  assert.ok([...lines].every((line) => line >= 1 && line <= PROGRAM.split('\n').length));
  assert.ok(
    [7, 8, 9, 11].some((line) => lines.has(line)),
    [...lines].join(),
  );
  const files = new Set(instructions.flatMap(({ frames }) => frames.map(({ file: name }) => name)));
  assert.deepEqual([...files], [join(folder, 'work.js')]);
  const text = await counterpoint('annotate', '-i', data, 'work');
  assert.match(text.out, /for \(let i = 0; i < n; i\+\+\)/);
});

test('without the dump it is told why there is no code, and where samples fell', async () => {
  for (const name of readdirSync(folder)) if (name.endsWith('.dump')) rmSync(join(folder, name));
  const { status, out } = await counterpoint('annotate', '-i', data, 'work');
  assert.equal(status, 1);
  assert.match(out, /its dump is not at .*jit-\d+\.dump/);
  assert.match(out, /^ +\d+\.\d\d : \+0x[0-9a-f]+$/m);
});

/** Memory of functions that are gone is used again. */
const CHURN = `'use strict';
let s = 0;
for (let k = 0; process.cpuUsage().user < 400_000; gc()) {
  const functions = [];
  for (const end = k + 20; k < end; k++)
    functions.push(eval('(function churn' + k + '(a) { let t = a; for (let i = 0; i < 300; i++) t = (t * 31 + i * ' + k + ') | 0; return t; })'));
  for (let r = 0; r < 600; r++) for (const one of functions) s ^= one(s);
}
`;

/** Of each sample, the function; of JavaScript without the mark of its compiler. */
const symbolsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trim().replace(/^[0-9a-f]+ /, ''))
    .map((name) => name.replace(/^(?:JS|Eval|Script|Function|LazyCompile):[*~^+]?/, 'JS:'));

test("in perf's recordings, code has the names of the dump, by time, as after perf inject", {
  skip: perfIsMissing(),
}, async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'churn.js'), CHURN);
  const run = (words: string) => {
    const [command, ...others] = words.split(' ');
    const { status, stderr } = spawnSync(command!, others, { cwd, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  };
  const file = join(cwd, 'perf.data');
  // The interpreter's code for one function is not another's then.
  const program = `${process.execPath} --expose-gc --perf-prof --interpreted-frames-native-stack churn.js`;
  run(`perf record -q -k mono -e cpu-clock:u -F 1999 -o perf.data ${program}`);
  run('perf inject --jit -i perf.data -o injected.data');
  const expected = symbolsOf(perf('script', '-F', 'ip,sym', '-i', join(cwd, 'injected.data')));
  const { out, err } = await counterpoint('script', '-F', 'ip,sym', '-i', file);
  assert.doesNotMatch(err, /jitdump|generated code|dump/);
  const found = symbolsOf(out);
  assert.equal(found.length, expected.length);
  const generated = expected.flatMap((name, index) => (name.startsWith('JS:') ? [index] : []));
  assert.ok(generated.length > 50, `${generated.length} samples in JavaScript`);
  const other = generated.filter((index) => found[index] !== expected[index]);
  assert.deepEqual(
    other.map((index) => [expected[index], found[index]]),
    [],
  );
  const report = await counterpoint('report', '--stdio', '-i', file);
  assert.match(report.out, /churn\d+/);
  assert.doesNotMatch(report.out, /without names|not certain/);
  for (const name of readdirSync(cwd)) if (name.endsWith('.dump')) rmSync(join(cwd, name));
  const without = await counterpoint('report', '--stdio', '-i', file);
  assert.match(without.out + without.err, /jit-\d+\.dump: process \d+ wrote there what code it made/);
});
