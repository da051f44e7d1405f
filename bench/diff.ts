/**
 * Promises of `diff`: of 40 pairs of equal runs of real programs at most 2 have a row that is called certain,
 * with one recording a side and with three; and a function that takes 20 % more is found with three a side.
 *
 *     npm run bench diff
 *     PROGRAMS=tsc,sort RUNS=8 npm run bench diff
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChangedProgram, changedPrograms, type DiffProgram, equalPrograms } from './diff-programs.ts';
import { COUNTERPOINT } from './recording.ts';

const WANTED = process.env['PROGRAMS']?.split(',');
/** Of each program; half of them are before, half after, recorded in turn. */
const RUNS = Number(process.env['RUNS'] ?? 16);
/** With three recordings a side each. */
const TRIALS = Number(process.env['TRIALS'] ?? 4);
const FACTOR = 1.2;

interface Row {
  symbol: string;
  dso: string;
  before: number;
  change: number | null;
  low: number;
  high: number | null;
  isBeyondNoise: boolean;
}

function record(command: readonly string[], path: string): string {
  const words = ['record', '-q', '-g', '-e', 'cpu-clock', '-o', path, '--', ...command];
  const { status, stderr } = spawnSync(COUNTERPOINT, words, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0 && status !== 1) throw new Error(`${command[0]}: ${stderr}`);
  return path;
}

function diff(before: readonly string[], after: readonly string[], ...words: string[]): Row[] {
  const { stdout, stderr } = spawnSync(
    COUNTERPOINT,
    ['diff', '--json', ...words, before.join(), after.join()],
    { encoding: 'utf8', maxBuffer: 1 << 28 },
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout).rows;
}

/** What was recorded in turn: a side has each second one, `size` of them, beginning with the pair `first`. */
function sidesOf(paths: readonly string[], first: number, size: number): [string[], string[]] {
  const side = (offset: number) =>
    Array.from({ length: size }, (_, at) => paths[(2 * (first + at) + offset) % paths.length]!);
  return [side(0), side(1)];
}

const METHODS = [
  ['delta-abs', 1],
  ['delta-abs', 3],
  ['ratio', 1],
  ['ratio', 3],
] as const;

/** How many comparisons of equal runs have a certain row, for each of `METHODS`. */
function certainOf({ name, command }: DiffProgram, folder: string): number[] {
  const paths = Array.from({ length: RUNS }, (_, run) =>
    record(command, join(folder, `${name}-${run}.data`)),
  );
  return METHODS.map(([method, size]) => {
    let certain = 0;
    for (let pair = 0; pair < RUNS / 2; pair++) {
      const rows = diff(...sidesOf(paths, pair, size), '-c', method).filter((row) => row.isBeyondNoise);
      if (rows.length > 0) certain++;
      for (const { symbol, dso, before, change, low, high } of rows)
        console.log(
          `  ${name}, ${method}, ${size} a side: ${symbol} (${dso}) ${before.toFixed(2)} %: ${change?.toFixed(2)}, ${low.toFixed(2)} to ${high?.toFixed(2)}`,
        );
    }
    return certain;
  });
}

function benchEqual(folder: string): void {
  const programs = equalPrograms(folder).filter(({ name }) => WANTED?.includes(name) ?? true);
  const sums = METHODS.map(() => 0);
  for (const program of programs) {
    const certain = certainOf(program, folder);
    console.log(`${program.name.padEnd(10)} ${tellCertain(certain, RUNS / 2)}`);
    for (const [at, count] of certain.entries()) sums[at]! += count;
  }
  console.log(`equal runs ${tellCertain(sums, (programs.length * RUNS) / 2)}`);
}

function tellCertain(counts: readonly number[], pairs: number): string {
  const told = METHODS.map(([method, size], at) => `${counts[at]} of ${pairs} (${method}, ${size} a side)`);
  return `a certain row in ${told.join(', ')}`;
}

/** Whether the function that takes longer is called certain, and nothing else is said to have grown. */
function benchChanged({ name, command }: ChangedProgram, folder: string): void {
  const paths: string[] = [];
  const [before, after] = [command(1), command(FACTOR)];
  for (let run = 0; run < 3 * TRIALS; run++) {
    paths.push(record(before, join(folder, `changed-before-${run}.data`)));
    paths.push(record(after, join(folder, `changed-after-${run}.data`)));
  }
  for (const [method, size] of METHODS) {
    let found = 0;
    let others = 0;
    for (let trial = 0; trial < TRIALS; trial++) {
      const grown = diff(...sidesOf(paths, 3 * trial, size), '-c', method).filter(
        ({ low }) => low > (method === 'ratio' ? 1 : 0),
      );
      if (grown.some(({ symbol }) => /^(?:JS:)?parse\b/.test(symbol))) found++;
      others += grown.filter(({ symbol }) => !/^(?:JS:)?parse\b/.test(symbol)).length;
    }
    console.log(
      `${name}, one function ${FACTOR} times: found in ${found} of ${TRIALS}, ${others} other rows grew (${method}, ${size} a side)`,
    );
  }
}

export function benchDiff(): void {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-diff-'));
  try {
    benchEqual(folder);
    for (const program of changedPrograms(folder)) benchChanged(program, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
