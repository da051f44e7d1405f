import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, writevSync } from 'node:fs';

const TIME = '/usr/bin/time';

/** One run of a command, as the operating system accounts it. */
export interface Run {
  wallSeconds: number;
  cpuSeconds: number;
  peakMiB: number;
  status: number;
}

/** What a benchmark needs and does not find, or null. */
export function missingTool(): string | null {
  if (!existsSync(TIME)) return 'GNU time (Debian: apt-get install time)';
  if (spawnSync('perf', ['--version']).status !== 0) return 'perf (Debian: apt-get install linux-perf)';
  return null;
}

/** Run a command with its output thrown away. */
export function run(command: readonly string[]): Run {
  const sink = openSync('/dev/null', 'w');
  const result = spawnSync(TIME, ['-f', '%e %U %S %M', ...command], {
    stdio: ['ignore', sink, 'pipe'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  const last = result.stderr.trim().split('\n').pop() ?? '';
  const [wall, user, system, peakKiB] = last.split(' ').map(Number);
  return {
    wallSeconds: wall!,
    cpuSeconds: user! + system!,
    peakMiB: peakKiB! / 1024,
    status: result.status ?? -1,
  };
}

/** What the kernel alone needs to write the same bytes to a file, pass after pass. */
export function secondsOfWritev(
  spans: readonly Uint8Array<ArrayBuffer>[],
  passes: number,
  path: string,
): number {
  const fd = openSync(path, 'w');
  const began = performance.now();
  for (let pass = 0; pass < passes; pass++) writevSync(fd, spans);
  const seconds = (performance.now() - began) / 1000;
  closeSync(fd);
  return seconds;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export interface Comparison {
  name: string;
  ours: Run;
  peer: Run;
  /** Median of ours / peer over the pairs. */
  wallRatio: number;
  cpuRatio: number;
  memoryRatio: number;
}

/** Run both in turn, after one warm-up each; medians over `pairs`. */
export function compare(
  name: string,
  ours: readonly string[],
  peer: readonly string[],
  pairs = 5,
): Comparison {
  run(ours);
  run(peer);
  const runs = Array.from({ length: pairs }, () => ({ ours: run(ours), peer: run(peer) }));
  const ratio = (key: 'wallSeconds' | 'cpuSeconds' | 'peakMiB') =>
    median(runs.map((pair) => pair.ours[key] / pair.peer[key]));
  const middle = (side: 'ours' | 'peer'): Run => ({
    wallSeconds: median(runs.map((pair) => pair[side].wallSeconds)),
    cpuSeconds: median(runs.map((pair) => pair[side].cpuSeconds)),
    peakMiB: median(runs.map((pair) => pair[side].peakMiB)),
    status: Math.max(...runs.map((pair) => pair[side].status)),
  });
  return {
    name,
    ours: middle('ours'),
    peer: middle('peer'),
    wallRatio: ratio('wallSeconds'),
    cpuRatio: ratio('cpuSeconds'),
    memoryRatio: ratio('peakMiB'),
  };
}

export function printComparison({ name, ours, peer, wallRatio, memoryRatio }: Comparison): void {
  const side = (run: Run) =>
    `${run.wallSeconds.toFixed(2)} s, ${run.peakMiB.toFixed(0)} MiB${run.status === 0 ? '' : `, exit ${run.status}`}`;
  console.log(name);
  console.log(`  counterpoint ${side(ours)}`);
  console.log(`  perf         ${side(peer)}`);
  console.log(`  ratio        ${wallRatio.toFixed(2)} of the time, ${memoryRatio.toFixed(2)} of the memory`);
}
