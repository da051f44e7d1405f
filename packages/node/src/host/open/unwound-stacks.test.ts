/**
 * Stacks that perf copied (`--call-graph dwarf`), unwound here and by perf: programs without frame pointers.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { counterpoint } from '../../test/command-line.ts';
import { buildFrameless, FRAMELESS_PROGRAM, noCompiler } from '../../test/frameless-program.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../test/perf.ts';

const skip =
  perfIsMissing() || noCompiler || (process.arch === 'x64' ? false : 'perf decides this on x86-64');

/** Addresses of each sample's frames, and their functions, as `script` prints them. */
function samplesOf(text: string): { addresses: string[]; functions: string[] }[] {
  return text
    .split('\n\n')
    .filter((sample) => sample.trim() !== '')
    .map((sample) => {
      const frames = sample.split('\n').filter((line) => line.startsWith('\t'));
      const words = frames.map((line) => line.trim().split(/\s+/));
      return {
        addresses: words.map(([address]) => address!),
        functions: words.map(([, name]) => name!.replace(/\+0x[0-9a-f]+$/, '')),
      };
    });
}

/** perf's own end of a stack that it could not follow: 0, less one. */
const withoutEnd = (addresses: string[]) =>
  addresses.at(-1) === 'ffffffffffffffff' ? addresses.slice(0, -1) : addresses;

async function compare(data: string) {
  const { status, out } = await counterpoint('script', '--no-inline', '-i', data);
  assert.equal(status, 0);
  const ours = samplesOf(out);
  const theirs = samplesOf(perf('script', '--no-inline', '-i', data));
  assert.equal(ours.length, theirs.length);
  let same = 0;
  for (const [index, { addresses }] of theirs.entries()) {
    const expected = withoutEnd(addresses);
    const found = ours[index]!.addresses.slice(0, Math.max(expected.length, 1));
    if (found.join() === expected.join()) same++;
  }
  return { ours, theirs, samples: theirs.length, same };
}

const PERF_RECORD = 'record -q -e cpu-clock:u -F 997 --call-graph dwarf'.split(' ');

test('a C++ program: every frame is where perf finds it, through signals, callbacks and stubs', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  perf(...PERF_RECORD, '-o', data, buildFrameless(folder));
  const { ours, samples, same } = await compare(data);
  assert.ok(samples > 100, `${samples} samples`);
  assert.ok(same >= samples * 0.99, `${same} of ${samples} samples have perf's frames`);
  const count = (isIt: (functions: string[]) => boolean) =>
    ours.filter(({ functions }) => isIt(functions)).length;
  // Also where perf stops: nearly all begin in main.
  const whole = count((functions) => functions.includes('main') && functions.at(-1) === '_start');
  assert.ok(whole > samples * 0.97, `${whole} of ${samples} lead to main and _start`);
  // Out of a handler of a signal, into what it interrupted.
  const interrupted = count(
    (functions) =>
      functions.includes('onSignal') && functions.indexOf('main') > functions.indexOf('onSignal') + 1,
  );
  assert.ok(interrupted > 5, `${interrupted} in the handler of a signal`);
});

test('what perf wrote into a pipe, and the shell into a file', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const command = `perf ${PERF_RECORD.join(' ')} -o - ${buildFrameless(folder)} > ${data}`;
  assert.equal(spawnSync('sh', ['-c', command]).status, 0);
  const { ours, samples, same } = await compare(data);
  assert.ok(samples > 100, `${samples} samples`);
  assert.ok(same >= samples * 0.97, `${same} of ${samples} samples have perf's frames`);
  const whole = ours.filter(({ functions }) => functions.includes('main')).length;
  assert.ok(whole > samples * 0.95, `${whole} of ${samples} lead to main`);
});

test('record --call-graph dwarf: perf unwinds our file as we do, of a command and of what runs', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const program = buildFrameless(folder);
  const check = async (...target: string[]) => {
    const words = [
      'record',
      '-q',
      '-e',
      'cpu-clock:u',
      '-F',
      '997',
      '--call-graph',
      'dwarf,16384',
      '-o',
      data,
    ];
    const { status, err } = await counterpoint(...words, ...target);
    assert.equal(status, 0, err);
    const { ours, theirs, samples, same } = await compare(data);
    assert.ok(samples > 50, `${samples} samples`);
    assert.ok(same >= samples * 0.99, `${same} of ${samples} samples have perf's frames`);
    // perf has found callers: it looks for the maps of each binary.
    const deep = theirs.filter(({ functions }) => functions.includes('main')).length;
    assert.ok(deep > samples * 0.9, `perf finds main in ${deep} of ${samples}`);
    assert.ok(ours.filter(({ functions }) => functions.includes('main')).length >= deep);
  };
  await check('--', program);
  const running = spawn(program, { stdio: 'ignore' });
  t.after(() => running.kill('SIGKILL'));
  await check('-p', String(running.pid));
});

test('stacks of Node are whole: JavaScript, V8 and libc up to where the program begins', {
  skip,
}, async (t) => {
  const data = join(temporaryFolder(t), 'perf.data');
  const script = `
    function work(n) { return n < 2 ? n : work(n - 1) + work(n - 2); }
    function pack() { return require('node:zlib').deflateSync('abc'.repeat(300000)); }
    while (process.cpuUsage().user < 1_000_000) { work(22); pack(); }`;
  const words = ['record', '-q', '-e', 'cpu-clock:u', '-F', '997', '--call-graph', 'dwarf,32768', '-o', data];
  const { status, err } = await counterpoint(...words, '--', process.execPath, '-e', script);
  assert.equal(status, 0, err);
  const { out } = await counterpoint('script', '--no-inline', '-i', data);
  const own = samplesOf(out).filter(({ functions }) => functions.some((name) => /^deflate/.test(name)));
  assert.ok(own.length > 100, `${own.length} samples in zlib`);
  const whole = own.filter(
    ({ functions }) => functions.some((name) => name.startsWith('JS:')) && functions.at(-1) === '_start',
  );
  assert.ok(
    whole.length > own.length * 0.95,
    `${whole.length} of ${own.length} from _start through JavaScript`,
  );
});

const REAL = [
  ['perl', '-e', 'my %h; for my $i (1..500000) { $h{$i % 1000} .= chr(65+$i%26) if "x$i" =~ /(\\d+)5/; }'],
  ['g++', '-O2', '-c', 'program.cc', '-o', '/dev/null'],
].filter(([command]) => existsSync(`/usr/bin/${command}`));

for (const command of REAL)
  test(`${command[0]}: no frame differs from perf's, as far as perf goes`, { skip }, async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'perf.data');
    const words = [...PERF_RECORD, '-o', data, '--', ...command];
    writeFileSync(join(folder, 'program.cc'), FRAMELESS_PROGRAM);
    const { status, stderr } = spawnSync('perf', words, { cwd: folder });
    assert.equal(status, 0, String(stderr));
    const { samples, same } = await compare(data);
    assert.ok(samples > 20, `${samples} samples`);
    assert.ok(same >= samples * 0.97, `${same} of ${samples} samples have perf's frames`);
  });
