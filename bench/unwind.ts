/**
 * Promise: copies of user stacks are unwound at least five times as fast as by `perf script`. A C++ program
 * without frame pointers, 100,000 copies of 8 KiB; and a compiler, whose stacks are deep.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, printComparison } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const PROGRAM = `
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
static volatile double sink;
__attribute__((noinline)) double leaf(double x, int n) {
  for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5 / (x + 1);
  return x;
}
__attribute__((noinline)) double descend(int depth, double x) {
  volatile double room[8];
  room[depth & 7] = x;
  return (depth == 0 ? leaf(x, 200) : descend(depth - 1, x + room[depth & 7]) + 1) + room[depth & 7];
}
static int compare(const void *a, const void *b) { return leaf(*(double *)a, 20) < leaf(*(double *)b, 20) ? -1 : 1; }
int main(int, char **words) {
  for (int i = 0, end = atoi(words[1]); i < end; i++) {
    std::map<std::string, double> all;
    for (int k = 0; k < 50; k++) all[std::to_string(k * 7919 % 101)] = descend(10 + i % 30, k);
    std::vector<double> values;
    for (int k = 0; k < 300; k++) values.push_back((k * 7919) % 1009);
    qsort(values.data(), values.size(), 8, compare);
    sink = all["7"] + values[0];
  }
}
`;
const ROUNDS = 5;

export function benchUnwind(): void {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  const at = (name: string) => join(folder, name);
  const record = (name: string, frequency: string, ...command: string[]) =>
    execFileSync(
      'perf',
      [
        'record',
        '-q',
        '-e',
        'cpu-clock',
        '-F',
        frequency,
        '--call-graph',
        'dwarf',
        '-o',
        at(name),
        ...command,
      ],
      { stdio: 'ignore' },
    );
  try {
    writeFileSync(at('program.cc'), PROGRAM);
    execFileSync('g++', ['-O2', '-fomit-frame-pointer', at('program.cc'), '-o', at('program')]);
    record('program.data', '10000', at('program'), '40000');
    record('compiler.data', '10000', 'g++', '-O2', '-c', at('program.cc'), '-o', '/dev/null');
    for (const name of ['program.data', 'compiler.data']) {
      const samples = execFileSync(COUNTERPOINT, ['report', '--stats', '--json', '-i', at(name)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      printComparison(
        compare(
          `script of ${JSON.parse(samples).samples} copied stacks (${name})`,
          [COUNTERPOINT, 'script', '--no-inline', '-i', at(name)],
          ['perf', 'script', '--no-inline', '-i', at(name)],
          ROUNDS,
        ),
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
