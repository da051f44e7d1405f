/**
 * Promise: rows by source line, and inlined functions, of a C++ program with more than 50 MB of debug
 * information at least ten times as fast as `perf report`. Forty units with templates of the standard
 * library, each of which has samples: the fewer have some, the less is read.
 * And `annotate` of one function of it in less than a second.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, printComparison } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const UNITS = 45;
const ROUNDS = 3;

const unitOf = (unit: number) => `
#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace unit${unit} {
static inline unsigned long mix(unsigned long h) { h ^= h >> 33; h *= 0xff51afd7ed558ccdUL; return h ^ h >> 29; }
static inline unsigned long twice(unsigned long h) { return mix(mix(h) + 1); }
unsigned long numbers(unsigned long n) {
  std::vector<unsigned long> ring(64);
  unsigned long h = n;
  for (unsigned long i = 0; i < n; i++) { h = twice(h + i); ring[i % ring.size()] = h; }
  return h ^ ring[n % 64];
}
unsigned long words(int n) {
  std::map<std::string, int> m;
  std::unordered_map<std::string, int> u;
  for (int i = 0; i < n; i++) { std::string k = "key" + std::to_string(mix(i) % 500); m[k] += i; u[k] ^= i; }
  unsigned long s = 0;
  for (auto &p : m) s += p.second * p.first.size() + u[p.first];
  return s;
}
unsigned long sorted(int n) {
  std::vector<unsigned long> v;
  for (int i = 0; i < n; i++) v.push_back(mix(i));
  std::sort(v.begin(), v.end(), [](unsigned long a, unsigned long b) { return twice(a) < twice(b); });
  return v[n / 2];
}
unsigned long matched(int n) {
  std::regex r("(k|e)+y([0-9]+)");
  unsigned long c = 0;
  for (int i = 0; i < n; i++) { std::ostringstream o; o << "key" << i; if (std::regex_match(o.str(), r)) c++; }
  return c;
}
}
unsigned long work${unit}() {
  using namespace unit${unit};
  return numbers(2000000) ^ words(20000) ^ sorted(50000) ^ matched(2000);
}
`;

export function benchSources(): void {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  const at = (name: string) => join(folder, name);
  try {
    makeProgram(folder);
    console.log(`the program has ${Math.round(statSync(at('program')).size / 1e6)} MB`);
    const record = (data: string, rounds: string, ...options: string[]) =>
      execFileSync(
        'perf',
        ['record', '-q', '-e', 'cpu-clock:u', ...options, '-o', at(data), '--', at('program'), rounds],
        { stdio: 'ignore' },
      );
    record('flat.data', '12', '-F', '4000');
    const functionName = hottestFunction(at('flat.data'));
    printComparison(
      compare(
        `annotate of one function (${functionName})`,
        [COUNTERPOINT, 'annotate', '-i', at('flat.data'), functionName],
        ['perf', 'annotate', '--stdio', '-i', at('flat.data'), '-s', functionName],
        ROUNDS,
      ),
    );
    record('chains.data', '6', '-F', '1000', '--call-graph', 'dwarf,4096');
    printComparison(
      compare(
        'report --sort srcline',
        [COUNTERPOINT, 'report', '-i', at('flat.data'), '--sort', 'srcline'],
        ['perf', 'report', '--stdio', '-i', at('flat.data'), '--sort', 'srcline'],
        ROUNDS,
      ),
    );
    printComparison(
      compare(
        'report --inline of unwound call chains',
        [COUNTERPOINT, 'report', '-i', at('chains.data'), '--inline', '--sort', 'symbol,srcline'],
        [
          'perf',
          'report',
          '--stdio',
          '-i',
          at('chains.data'),
          '--inline',
          '-g',
          'none',
          '--sort',
          'symbol,srcline',
        ],
        ROUNDS,
      ),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function hottestFunction(data: string): string {
  const words = [
    'report',
    '-i',
    data,
    '--no-children',
    '--sort',
    'symbol',
    '--dsos',
    'program',
    '--limit',
    '1',
    '--json',
  ];
  const { events } = JSON.parse(execFileSync(COUNTERPOINT, words, { encoding: 'utf8' }));
  return events[0].rows[0].symbol;
}

function makeProgram(folder: string): void {
  const units = Array.from({ length: UNITS }, (_, unit) => unit + 1);
  for (const unit of units) {
    writeFileSync(join(folder, `unit${unit}.cc`), unitOf(unit));
    execFileSync('g++', ['-O2', '-g', '-c', `unit${unit}.cc`], { cwd: folder });
  }
  const declarations = units.map((unit) => `unsigned long work${unit}();`).join('\n');
  const sum = units.map((unit) => `work${unit}()`).join(' ^ ');
  const main = `#include <cstdlib>\n${declarations}\nint main(int, char **words) {
  unsigned long sum = 0;
  for (int i = atoi(words[1]); i > 0; i--) sum ^= ${sum};
  return sum == 1;\n}\n`;
  writeFileSync(join(folder, 'main.cc'), main);
  const objects = units.map((unit) => `unit${unit}.o`);
  execFileSync('g++', ['-O2', '-g', 'main.cc', ...objects, '-o', 'program'], { cwd: folder });
}
