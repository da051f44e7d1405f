/** Promises: two workers decode at least 1.8 times as fast as one; a trace of a gigabyte needs less than 500 MB of memory. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compare, run } from './measure.ts';
import { BENCH_FOLDER, gzipCode, gzipInstructions, gzipTrace, ptTracesMissing } from './pt-trace.ts';
import { COUNTERPOINT } from './recording.ts';

/** 214 MB and 1.07 GB. */
const SHORT = 24;
const LONG = 120;
const PAIRS = 3;

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
  const command = (workers: number) => [
    COUNTERPOINT,
    'pt',
    'profile',
    '--json',
    '--workers',
    String(workers),
    ...raw,
    path,
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
    const { ours, peer, wallRatio, cpuRatio } = compare('pt workers', command(2), command(1), PAIRS);
    console.log(
      `two workers on ${(statSync(path).size / 1e6).toFixed(0)} MB: ${ours.wallSeconds.toFixed(2)} s (${ours.cpuSeconds.toFixed(2)} s CPU), ` +
        `one ${peer.wallSeconds.toFixed(2)} s (${peer.cpuSeconds.toFixed(2)} s CPU), whole commands`,
    );
    console.log(
      `  ratio        ${(1 / wallRatio).toFixed(2)} times as fast; by CPU time ${(2 / cpuRatio).toFixed(2)} on two free CPUs; promised 1.8`,
    );
    for (let time = SHORT; time < LONG; time++) appendFileSync(path, once);
    check(LONG);
    for (const workers of [1, 2]) {
      const { wallSeconds, cpuSeconds, peakMiB } = run(command(workers));
      console.log(
        `${(statSync(path).size / 1e9).toFixed(2)} GB, ${workers} worker(s): ${peakMiB.toFixed(0)} MiB, ` +
          `${wallSeconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s CPU); promised below 500 MB`,
      );
    }
  } finally {
    rmSync(path, { force: true });
  }
}
