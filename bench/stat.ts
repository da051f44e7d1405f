/**
 * Promise: `stat true` is over within 250 ms. Beside it perf stat's own, and what each reports as the time of
 * `true`: how much of the tool is in the result. Then thousands of events, and hundreds of processes.
 */
import { spawn, spawnSync } from 'node:child_process';
import { median, run } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const ROUNDS = 15;
const WARM_UPS = 3;

interface Statted {
  wallMs: number;
  reportedMs: number;
  /** CPU time that the program is said to have used. */
  clockMs: number;
}

function stat(tool: string): Statted {
  const start = performance.now();
  const { stderr } = spawnSync(tool, ['stat', '-e', 'task-clock', 'true'], { encoding: 'utf8' });
  const wallMs = performance.now() - start;
  const figure = (pattern: RegExp) => Number(pattern.exec(stderr)?.[1]);
  return {
    wallMs,
    reportedMs: figure(/([\d.]+) seconds time elapsed/) * 1000,
    clockMs: figure(/([\d.]+) msec task-clock/),
  };
}

export function benchStat(): void {
  const pairs = Array.from({ length: ROUNDS }, () => ({
    ours: stat(COUNTERPOINT),
    perf: stat('perf'),
  })).slice(WARM_UPS);
  const empty = median(
    Array.from({ length: ROUNDS }, () => {
      const start = performance.now();
      spawnSync(process.execPath, ['-e', '0']);
      return performance.now() - start;
    }),
  );
  const of = (side: 'ours' | 'perf', figure: keyof Statted) =>
    median(pairs.map((pair) => pair[side][figure]));
  for (const [figure, what] of [
    ['wallMs', 'from start to end'],
    ['reportedMs', 'reported as the time of true'],
    ['clockMs', 'reported as its task-clock'],
  ] as const) {
    const ours = of('ours', figure);
    const theirs = of('perf', figure);
    console.log(`stat true, ${what}: ${ours.toFixed(2)} ms; perf stat: ${theirs.toFixed(2)} ms`);
  }
  console.log(`node -e 0 alone: ${empty.toFixed(0)} ms`);
  benchMany();
}

const MANY_EVENTS = 4000;
const MANY_PROCESSES = 300;

/** CPU time, which holds on a busy machine: of one event, and of what each of many adds to that. */
function benchMany(): void {
  const many = Array.from({ length: MANY_EVENTS }, () => 'cs').join(',');
  tellCpu(`${MANY_EVENTS} events`, ['-e', many, 'true']);
  const sleepers = Array.from({ length: MANY_PROCESSES }, () => spawn('sleep', ['600'], { stdio: 'ignore' }));
  const pids = sleepers.map(({ pid }) => pid).join(',');
  try {
    tellCpu(`3 events of ${MANY_PROCESSES} processes`, [
      '-e',
      'cs,faults,migrations',
      '-p',
      pids,
      '--timeout',
      '10',
    ]);
  } finally {
    for (const sleeper of sleepers) sleeper.kill();
  }
}

function tellCpu(what: string, options: readonly string[]): void {
  const cpuMs = (tool: string, more: readonly string[]) =>
    1000 * median(Array.from({ length: 5 }, () => run([tool, 'stat', ...more]).cpuSeconds));
  const one = ['-e', 'cs', 'true'];
  const ours = [cpuMs(COUNTERPOINT, options), cpuMs(COUNTERPOINT, one)] as const;
  const perf = [cpuMs('perf', options), cpuMs('perf', one)] as const;
  const side = ([all, first]: readonly [number, number]) =>
    `${all.toFixed(0)} ms, one event ${first.toFixed(0)} ms`;
  console.log(`${what}, CPU time: ${side(ours)}; perf stat: ${side(perf)}`);
}
