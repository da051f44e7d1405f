/** One run of test files, each in a process of its own; what a file printed comes at its end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileTests } from './compile.ts';
import type { CompiledTests } from './compiled-tests.ts';
import { childrenCpuSeconds } from './cpu-time.ts';
import { CONCURRENCY } from './files.ts';
import { type FileRun, runFile } from './one-file.ts';
import { RETRIES_VARIABLE, type Retry, readRetries } from './retries.ts';

export interface TestRun {
  /** In the order in which they ended. */
  files: FileRun[];
  retries: Retry[];
  elapsedSeconds: number;
}

/** Where the files are parts of a run, `parts` has all of it compiled. */
export async function runFiles(files: readonly string[], parts?: CompiledTests): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-run-'));
  const retriesPath = join(folder, 'retries');
  process.env[RETRIES_VARIABLE] = retriesPath;
  // What recordings keep of binaries is not put into the user's own cache.
  process.env['PERF_BUILDID_DIR'] ??= join(folder, 'build-ids');
  const begin = performance.now();
  using own = parts === undefined ? await compileTests(files) : null;
  const compiled = parts ?? own!;
  // What was compiled is no file's.
  childrenCpuSeconds();
  const left = [...files];
  const runs: FileRun[] = [];
  const runOneByOne = async () => {
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      const run = await runFile(path, { compiled });
      console.log(`${path} (${costText(run)})\n${run.output.trimEnd()}`);
      runs.push(run);
    }
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, runOneByOne));
    const elapsedSeconds = (performance.now() - begin) / 1000;
    return {
      files: runs,
      retries: readRetries(retriesPath, (program) => compiled.sourceOf(program)),
      elapsedSeconds,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** How long a file took, and its CPU time. */
export function costText({ seconds, cpuSeconds }: FileRun): string {
  const cpu = cpuSeconds === null ? '' : `, ${cpuSeconds.toFixed(1)} s of CPU time`;
  return `${seconds.toFixed(1)} s${cpu}`;
}

/** Seconds of each file, by its path. */
export function secondsOfRun({ files }: TestRun): Map<string, number> {
  return new Map(files.map(({ path, seconds }) => [path, seconds]));
}

export function failedFiles({ files }: TestRun): FileRun[] {
  return files.filter(({ failures }) => failures.length > 0);
}
