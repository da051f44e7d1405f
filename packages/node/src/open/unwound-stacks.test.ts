/**
 * Stacks that perf copied (`--call-graph dwarf`), unwound here and by perf: programs without frame pointers.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { counterpoint } from '../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../test/perf.ts';

const PROGRAM = `
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/time.h>
#include <vector>
static volatile double sink;
__attribute__((noinline)) double leaf(double x, int n) {
  for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5 / (x + 1);
  return x;
}
__attribute__((noinline)) double descend(int depth, double x) {
  volatile double room[8];
  room[depth & 7] = x;
  double below = depth == 0 ? leaf(x, 200) : descend(depth - 1, x + room[depth & 7]) + 1;
  return below + room[depth & 7];
}
struct Task { virtual double run(int depth) = 0; virtual ~Task() {} };
struct Descend : Task { double run(int depth) override { return descend(depth, 1.5) * 2; } };
struct Fill : Task {
  double run(int depth) override {
    std::map<std::string, double> all;
    for (int i = 0; i < 50; i++) all[std::to_string(i * 7919 % 101)] = descend(depth / 4, i);
    double sum = 0;
    for (auto &one : all) sum += one.second;
    return sum;
  }
};
static int compare(const void *a, const void *b) {
  return leaf(*(double *)a, 20) < leaf(*(double *)b, 20) ? -1 : 1;
}
__attribute__((noinline)) static void onSignal(int) { sink = leaf(sink, 60000); }
int main() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  sigaction(SIGALRM, &action, nullptr);
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  Descend deep;
  Fill fill;
  std::vector<Task *> tasks{&deep, &fill};
  for (int i = 0; i < 900; i++) {
    for (auto *task : tasks) sink = task->run(10 + i % 30);
    std::vector<double> values;
    for (int k = 0; k < 300; k++) values.push_back((k * 7919) % 1009);
    qsort(values.data(), values.size(), 8, compare);
    std::sort(values.begin(), values.end(), [](double a, double b) { return leaf(a, 5) < leaf(b, 5); });
  }
}
`;

const noCompiler = spawnSync('g++', ['--version']).status === 0 ? false : 'g++ is not installed';
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
  const { status, out } = await counterpoint('script', '-i', data);
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

/** The program, compiled without frame pointers. */
function build(folder: string): string {
  const path = join(folder, 'program');
  writeFileSync(`${path}.cc`, PROGRAM);
  const { status, stderr } = spawnSync('g++', ['-O2', '-fomit-frame-pointer', `${path}.cc`, '-o', path]);
  assert.equal(status, 0, String(stderr));
  return path;
}

const PERF_RECORD = 'record -q -e cpu-clock:u -F 997 --call-graph dwarf'.split(' ');

test('a C++ program: every frame is where perf finds it, through signals, callbacks and stubs', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  perf(...PERF_RECORD, '-o', data, build(folder));
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

test('record --call-graph dwarf: perf unwinds our file as we do, of a command and of what runs', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const program = build(folder);
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
  const { out } = await counterpoint('script', '-i', data);
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
    writeFileSync(join(folder, 'program.cc'), PROGRAM);
    const { status, stderr } = spawnSync('perf', words, { cwd: folder });
    assert.equal(status, 0, String(stderr));
    const { samples, same } = await compare(data);
    assert.ok(samples > 20, `${samples} samples`);
    assert.ok(same >= samples * 0.97, `${same} of ${samples} samples have perf's frames`);
  });
