import { cpSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { globSync } from '../glob.ts';
import type { FileRun } from '../test-run/one-file.ts';
import { failedFiles, type TestRun } from '../test-run/run.ts';
import { tryAgain } from '../test-run/second-try.ts';
import { secondTryLines } from '../test-run/summary.ts';
import { ensureGuest } from './build.ts';
import { bundleCommandLine, bundleTest } from './bundle.ts';
import { type GuestResult, guestRun } from './guest-run.ts';
import type { SnapshotName } from './recipe.ts';
import { runInGuest } from './run.ts';
import { makeScratch } from './scratch.ts';

const TIMEOUT_SECONDS = 240;
const TEST_FILE = /\.pmu\.ts$/;

interface Setting {
  /** The guest's folder. */
  guest: string;
  /** What is removed afterwards: bundles, and what the tests leave in /host. */
  scratch: string;
  nodeProgram: string;
  /** Guests that were started: each has folders of its own. */
  runs: number;
}

/** Which machine a file wants, by its name. */
function snapshotOf(path: string): SnapshotName {
  if (path.endsWith('.smp.icount.pmu.ts')) return 'a57-smp-icount';
  if (path.endsWith('.icount.pmu.ts')) return 'a57-icount';
  return path.endsWith('.smp.pmu.ts') ? 'a57-smp' : 'a57';
}

/**
 * Run every `*.pmu.ts` whose path has one of the words, each in a guest of its
 * own. Resolves to the exit status.
 */
export async function runTests(filters: string[], nodeProgram = 'node'): Promise<number> {
  const paths = globSync(['packages'], TEST_FILE).filter(
    (path) => filters.length === 0 || filters.some((filter) => path.includes(filter)),
  );
  if (paths.length === 0) throw new Error(`No *.pmu.ts matches ${filters.join(' ')}.`);
  const guest = await ensureGuest();
  using scratch = makeScratch('pmu');
  await bundleCommandLine(join(scratch.path, 'tools'));
  return await runAll(paths, { guest, scratch: scratch.path, nodeProgram, runs: 0 });
}

async function runAll(paths: string[], setting: Setting): Promise<number> {
  const begin = performance.now();
  const first = await runFiles(paths, setting);
  // An emulated machine has its chances, too: the cycles of two counters are times of the host.
  const { result, passedLater, refusals } = await tryAgain(
    first,
    () => false,
    (path) => {
      console.log(`Once more, alone: ${path}`);
      return runFiles([path], setting);
    },
  );
  const failed = failedFiles(result);
  const { pass, fail, skipped } = totalsOf(result);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  if (passedLater.length > 0) console.log(`${passedLater.length} files passed at a second try:`);
  for (const line of [...passedLater.flatMap(secondTryLines), ...refusals]) console.log(line);
  console.log(
    `In the guest: tests ${pass + fail + skipped}, pass ${pass}, fail ${fail}, skipped ${skipped}; ${seconds} s`,
  );
  for (const { path } of failed) console.log(`FAILED ${path}`);
  return failed.length > 0 ? 1 : 0;
}

function totalsOf({ files }: TestRun): { pass: number; fail: number; skipped: number } {
  const sum = (count: (run: FileRun) => number) => files.reduce((total, run) => total + count(run), 0);
  return {
    pass: sum(({ passed }) => passed),
    fail: sum(({ failures }) => failures.length),
    skipped: sum((run) => run.skipped.length),
  };
}

async function runFiles(paths: string[], setting: Setting): Promise<TestRun> {
  const begin = performance.now();
  const files: FileRun[] = [];
  const waiting = paths.values();
  const work = async () => {
    for (const path of waiting) {
      const run = guestRun(path, await runFile(path, setting));
      console.log(`# ${path} (${snapshotOf(path)}, ${run.seconds.toFixed(1)} s)\n${run.output.trimEnd()}\n`);
      files.push(run);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), paths.length) }, work));
  return { files, retries: [], elapsedSeconds: (performance.now() - begin) / 1000 };
}

async function runFile(path: string, setting: Setting): Promise<GuestResult> {
  const { guest, scratch, nodeProgram } = setting;
  const begin = performance.now();
  const number = ++setting.runs;
  const hostFolder = join(scratch, `host-${number}`);
  const toolsFolder = join(scratch, `tools-${number}`);
  mkdirSync(hostFolder);
  cpSync(join(scratch, 'tools'), toolsFolder, { recursive: true });
  let text = '';
  const printed = () =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString();
        done();
      },
    });
  let status = 1;
  try {
    const name = await bundleTest(path, hostFolder);
    status = await runInGuest(guest, {
      snapshot: snapshotOf(path),
      script: `${nodeProgram} --test-reporter=spec ${name}`,
      hostFolder,
      toolsFolder,
      out: printed(),
      err: printed(),
      timeoutSeconds: TIMEOUT_SECONDS,
    });
  } catch (cause) {
    text += `\n${(cause as Error).message}\n`;
  }
  return { status, text, seconds: (performance.now() - begin) / 1000 };
}
