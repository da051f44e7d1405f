import { cpSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { globSync } from '../glob.ts';
import { ensureGuest } from './build.ts';
import { bundleCommandLine, bundleTest } from './bundle.ts';
import type { SnapshotName } from './recipe.ts';
import { runInGuest } from './run.ts';
import { makeScratch } from './scratch.ts';

const TIMEOUT_SECONDS = 240;
const TEST_FILE = /\.pmu\.ts$/;

/** The last lines of node:test's "spec" reporter. */
const COUNTS = ['tests', 'pass', 'fail', 'skipped'] as const;
type Counts = Record<(typeof COUNTS)[number], number>;

interface Setting {
  /** The guest's folder. */
  guest: string;
  /** What is removed afterwards: bundles, and what the tests leave in /host. */
  scratch: string;
  nodeProgram: string;
}

interface FileResult {
  status: number;
  text: string;
  seconds: number;
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
  return await runAll(paths, { guest, scratch: scratch.path, nodeProgram });
}

async function runAll(paths: string[], setting: Setting): Promise<number> {
  const begin = performance.now();
  const total: Counts = { tests: 0, pass: 0, fail: 0, skipped: 0 };
  const failed: string[] = [];
  const waiting = paths.entries();
  const work = async () => {
    for (const [i, path] of waiting) {
      const result = await runFile(path, i, setting);
      const counts = readCounts(result.text);
      for (const name of COUNTS) total[name] += counts?.[name] ?? 0;
      if (counts === null) result.text += `\nno results; exit status ${result.status}`;
      if (result.status !== 0 || counts === null) failed.push(path);
      console.log(
        `# ${path} (${snapshotOf(path)}, ${result.seconds.toFixed(1)} s)\n${result.text.trimEnd()}\n`,
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), paths.length) }, work));

  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  console.log(`In the guest: ${COUNTS.map((name) => `${name} ${total[name]}`).join(', ')}; ${seconds} s`);
  for (const path of failed) console.log(`FAILED ${path}`);
  return failed.length > 0 ? 1 : 0;
}

async function runFile(path: string, i: number, setting: Setting): Promise<FileResult> {
  const { guest, scratch, nodeProgram } = setting;
  const begin = performance.now();
  const hostFolder = join(scratch, `host-${i}`);
  const toolsFolder = join(scratch, `tools-${i}`);
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

function readCounts(text: string): Counts | null {
  const numbers = COUNTS.map((name) => new RegExp(`^. ${name} (\\d+)$`, 'm').exec(text)?.[1]);
  if (numbers.some((number) => number === undefined)) return null;
  return Object.fromEntries(COUNTS.map((name, i) => [name, Number(numbers[i])])) as Counts;
}
