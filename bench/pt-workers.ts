/**
 * Promises: two workers decode at least 1.8 times as fast as one; a trace of a gigabyte needs less than 500
 * MB of memory. What two processors of a machine give at most is measured beside it: two commands at a time,
 * each with one worker and half of the trace.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { median, type Run, run } from './measure.ts';
import { BENCH_FOLDER, gzipCode, gzipInstructions, gzipTrace, ptTracesMissing } from './pt-trace.ts';
import { COUNTERPOINT } from './recording.ts';

/** 214 MB and 1.07 GB. */
const SHORT = 24;
const LONG = 120;
const ROUNDS = 5;
const LONG_ROUNDS = 3;

export function benchPtWorkers(): void {
  const missing = ptTracesMissing();
  const code = missing === null ? gzipCode() : null;
  if (code === null) {
    console.log(`pt workers: skipped, ${missing ?? 'gzip and libc here are not the ones of the trace'}`);
    return;
  }
  const raw = code.flatMap(({ file, offset, size, vaddr }) => {
    const end = (Number.parseInt(offset, 16) + Number.parseInt(size, 16)).toString(16);
    return ['--raw', `${file}:0x${offset}-0x${end}:0x${vaddr}`];
  });
  const path = join(BENCH_FOLDER, 'base-long.pt');
  const once = readFileSync(gzipTrace('base'));
  rmSync(path, { force: true });
  const command = (workers: number, part = '') => [
    COUNTERPOINT,
    ...['pt', 'profile', '--json', '--workers', String(workers)],
    ...raw,
    path + part,
  ];
  const check = (times: number): void => {
    const [program, ...words] = command(2);
    const said = JSON.parse(spawnSync(program!, words, { encoding: 'utf8' }).stdout).instructions;
    const expected = String(gzipInstructions('base') * times);
    if (said !== expected) throw new Error(`${said} instructions, and ${expected} were executed`);
  };
  try {
    for (let time = 0; time < SHORT; time++) appendFileSync(path, once);
    check(SHORT);
    compareWorkers(command, (SHORT * once.length) / 1e6, once.length * (SHORT >> 1), ROUNDS);
    for (let time = SHORT; time < LONG; time++) appendFileSync(path, once);
    check(LONG);
    compareWorkers(command, (LONG * once.length) / 1e6, once.length * (LONG >> 1), LONG_ROUNDS);
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * One worker, two, and two commands at a time, in turn. How fast two workers are as a share of two commands.
 */
export function compareWorkers(
  command: (workers: number, part?: string) => string[],
  megabytes: number,
  half: number,
  rounds: number,
): number {
  const words = (part: string) =>
    command(1, part)
      .map((word) => `'${word}'`)
      .join(' ');
  const halves = ['sh', '-c', `${words(`:0-${half}`)} & ${words(`:${half}`)}; wait`];
  const runs = Array.from({ length: rounds }, () => ({
    one: run(command(1)),
    two: run(command(2)),
    halves: run(halves),
  }));
  const middle = (name: 'one' | 'two' | 'halves', key: keyof Run) =>
    median(runs.map((round) => round[name][key]));
  const ratio = (name: 'two' | 'halves') =>
    median(runs.map((round) => round.one.wallSeconds / round[name].wallSeconds)).toFixed(2);
  const seconds = (name: 'one' | 'two' | 'halves') =>
    `${middle(name, 'wallSeconds').toFixed(2)} s (${middle(name, 'cpuSeconds').toFixed(2)} s CPU)`;
  const memory = (name: 'one' | 'two') => `${middle(name, 'peakMiB').toFixed(0)} MiB`;
  console.log(
    `${megabytes.toFixed(0)} MB: one worker ${seconds('one')}, two ${seconds('two')}, two commands with half of it each ${seconds('halves')}`,
  );
  console.log(
    `  ratio        two workers ${ratio('two')} times as fast as one, promised 1.8; two commands ${ratio('halves')} times`,
  );
  console.log(`  memory       ${memory('one')} and ${memory('two')}, promised below 500 MB`);
  return median(runs.map((round) => round.halves.wallSeconds / round.two.wallSeconds));
}
