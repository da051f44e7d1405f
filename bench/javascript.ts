/**
 * Promise: time is the JavaScript function's whose code runs. A program with known truth is recorded by both
 * tools with the same flags of V8, in each of V8's tiers; then what that costs the program, beside perf.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, run } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const PROGRAM = fileURLToPath(new URL('javascript-truth.mjs', import.meta.url));
const NAMES = ['--perf-basic-prof', '--interpreted-frames-native-stack'];
const PAIRS = 5;

/** How long each runs is up to the tier: about two seconds. */
const TIERS = [
  { name: 'interpreter', flags: ['--no-opt', '--no-maglev', '--no-sparkplug'], rounds: 9_000 },
  { name: 'baseline code', flags: ['--no-opt', '--no-maglev', '--always-sparkplug'], rounds: 18_000 },
  { name: 'optimised code', flags: [], rounds: 60_000 },
] as const;

/** The share of the samples below `outer` that have `hot`, too, in percent. */
function shareOfHot(stacks: readonly string[]): number {
  const all = stacks.filter((stack) => /JS:\S*outer /.test(stack));
  return (100 * all.filter((stack) => /JS:\S*hot /.test(stack)).length) / all.length;
}

function ours(path: string): number {
  const { stdout } = spawnSync(COUNTERPOINT, ['export', '-i', path, '--format', 'folded', '-o', '-'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  const stacks = stdout.split('\n').flatMap((line) => {
    const cut = line.lastIndexOf(' ');
    return Array.from({ length: Number(line.slice(cut)) }, () => line.slice(0, cut));
  });
  return shareOfHot(stacks);
}

function perfs(path: string): number {
  const { stdout } = spawnSync('perf', ['script', '-i', path, '-F', 'ip,sym'], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  return shareOfHot(stdout.split('\n\n'));
}

export function benchJavascript(): void {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-javascript-'));
  try {
    for (const { name, flags, rounds } of TIERS) {
      const command = [process.execPath, ...NAMES, ...flags, PROGRAM, String(rounds)];
      const [own, theirs] = [join(folder, 'own.data'), join(folder, 'perf.data')];
      // Periods of one, so that samples are what they weigh.
      const request = ['-e', 'cpu-clock:u', '-F', '1000', '-g'];
      const once = () => ({
        alone: run(command).wallSeconds,
        own: run([COUNTERPOINT, 'record', ...request, '-o', own, '--', ...command]).wallSeconds,
        perf: run(['perf', 'record', ...request, '-o', theirs, '--', ...command]).wallSeconds,
      });
      const pairs = Array.from({ length: PAIRS }, once);
      const ratio = (tool: 'own' | 'perf') => median(pairs.map((pair) => pair[tool] / pair.alone)).toFixed(2);
      const mib = (path: string) => (statSync(path).size / 2 ** 20).toFixed(2);
      console.log(
        `${name}: hot ${ours(own).toFixed(1)} %, perf ${perfs(theirs).toFixed(1)} %; wall time of the program alone × ${ratio('own')}, perf × ${ratio('perf')}; ${mib(own)} MiB, perf ${mib(theirs)}`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
