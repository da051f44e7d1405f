/** Test files many times, beside others who want the CPUs: does what is new hold on a busy machine, too? */
import { spawn } from 'node:child_process';
import type { FileRun } from './one-file.ts';

const TIMES = 10;
const LIMIT_SECONDS = 30 * 60;
/** As many as the smallest machine that lands work has CPUs. */
const BUSY_LOOPS = 2;

export interface Steadiness {
  path: string;
  runs: FileRun[];
}

export interface SteadyLimits {
  times: number;
  limitSeconds: number;
  now: () => number;
}

/**
 * The first run of each file before the second of any: where the time does not suffice, all were tried. A
 * file that failed is not run again.
 */
export async function runSteady(
  files: readonly string[],
  run: (path: string) => Promise<FileRun>,
  limits: SteadyLimits = { times: TIMES, limitSeconds: LIMIT_SECONDS, now: () => performance.now() },
): Promise<Steadiness[]> {
  const { times, limitSeconds, now } = limits;
  const begin = now();
  const found = files.map((path): Steadiness => ({ path, runs: [] }));
  for (let round = 0; round < times; round++)
    for (const { path, runs } of found) {
      if (runs.some(hasFailed)) continue;
      const longest = Math.max(0, ...runs.map(({ seconds }) => seconds));
      if ((now() - begin) / 1000 + longest <= limitSeconds) runs.push(await run(path));
    }
  return found;
}

function hasFailed({ failures }: FileRun): boolean {
  return failures.length > 0;
}

/** A line for each file, and what failed in it; the last line says whether all held. */
export function steadyText(found: readonly Steadiness[], times = TIMES): string {
  const lines = found.flatMap(({ path, runs }) => {
    const failed = runs.find(hasFailed);
    if (failed !== undefined)
      return [
        `failed in run ${runs.length}: ${path}`,
        ...failed.failures.flatMap(({ name, message }) => [`    ${name}`, `      ${message.split('\n')[0]}`]),
      ];
    if (runs.length < times) return [`${runs.length} of ${times} times, then the time was over: ${path}`];
    return [`${times} times: ${path}`];
  });
  const count = (isSo: (one: Steadiness) => boolean) => found.filter(isSo).length;
  const failed = count(({ runs }) => runs.some(hasFailed));
  const unfinished = count(({ runs }) => !runs.some(hasFailed) && runs.length < times);
  return [
    '',
    ...lines,
    `${found.length - failed - unfinished} files are steady, ${failed} are not, ${unfinished} were not run often enough.`,
  ].join('\n');
}

/** Two processes that take what they get of the CPUs, until they are disposed of. */
export function busyMachine(): Disposable {
  const loops = Array.from({ length: BUSY_LOOPS }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  const end = () => {
    for (const loop of loops) loop.kill('SIGKILL');
  };
  process.once('exit', end);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  return { [Symbol.dispose]: end };
}
