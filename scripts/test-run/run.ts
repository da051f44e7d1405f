/** One run of test files under `node:test`: what it prints is the spec reporter's. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { CONCURRENCY } from './files.ts';
import { RETRIES_VARIABLE, type Retry, readRetries } from './retries.ts';
import type { Skips } from './skips.ts';

export interface TestRun {
  passed: number;
  failed: number;
  skips: Skips[];
  retries: Retry[];
  /** Of each file, by its path. */
  seconds: Map<string, number>;
  elapsedSeconds: number;
}

// In a terminal Node would tell every test to print in colours, and with it every program that a test starts.
Object.defineProperty(process.stdout, 'isTTY', { value: false });

/** Run the files, each in a process of its own that has the options of this one. */
export async function runFiles(files: string[]): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-run-'));
  const retriesPath = join(folder, 'retries');
  process.env[RETRIES_VARIABLE] = retriesPath;
  try {
    const result = await collect(files);
    return { ...result, retries: readRetries(retriesPath) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function collect(files: string[]): Promise<Omit<TestRun, 'retries'>> {
  const begin = performance.now();
  const seconds = new Map<string, number>();
  const skipped = new Map<string, string[]>();
  let [passed, failed] = [0, 0];
  const stream = run({ files, concurrency: CONCURRENCY });
  stream.on('test:complete', ({ name, file, nesting, details }) => {
    // The process of a file is a test of its own.
    if (nesting === 0 && file !== undefined && file.endsWith(name)) {
      const path = relative('', file);
      if (files.includes(path)) seconds.set(path, details.duration_ms / 1000);
    }
  });
  stream.on('test:pass', ({ name, file, skip, details }) => {
    if (skip !== undefined && skip !== false) {
      const reason = skip === true ? 'no reason is given' : skip;
      const tests = skipped.get(reason) ?? [];
      skipped.set(reason, [...tests, `${relative('', file ?? '')}: ${name}`]);
    } else if (details.type !== 'suite') passed++;
  });
  stream.on('test:fail', ({ todo, details }) => {
    if (details.type !== 'suite' && (todo === undefined || todo === false)) failed++;
  });
  const printed = stream.compose(new spec());
  printed.pipe(process.stdout, { end: false });
  await new Promise((resolve) => printed.once('end', resolve));
  const skips = [...skipped].map(([reason, tests]) => ({ reason, tests }));
  return { passed, failed, skips, seconds, elapsedSeconds: (performance.now() - begin) / 1000 };
}
