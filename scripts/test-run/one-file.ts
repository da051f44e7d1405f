/** One test file under `node:test`, in a process of its own that has the options of this one. */
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import type { CompiledTests } from './compiled-tests.ts';
import { childrenCpuSeconds } from './cpu-time.ts';
import { type Load, loadNow } from './load.ts';

/** Five times as long as the longest file takes: who is not done then waits for what does not come. */
const LIMIT_MS = 600_000;
/** What the spec reporter says of all files, which here are one; then the failures once more. */
const TOTALS = /^ℹ (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm;
const REPEATED = /\n✖ failing tests:\n[\s\S]*$/;

/** How a file ended: with its tests, whatever they say; or in a way that no second try excuses. */
export type FileEnd = 'ended' | 'crashed' | 'hung' | 'no tests';

export interface Failure {
  /** Of the test. */
  name: string;
  /** Of what it threw. */
  message: string;
}

export interface FileRun {
  path: string;
  passed: number;
  failures: Failure[];
  skipped: { name: string; reason: string }[];
  end: FileEnd;
  seconds: number;
  /** CPU time of its process and of all that it started and waited for; null: the system does not tell. */
  cpuSeconds: number | null;
  /** What the file printed, among the spec reporter's lines. */
  output: string;
  /** Of the machine at its end. */
  load: Load;
}

export interface FileOptions {
  limitMs?: number;
  /** Without: from the sources. */
  compiled?: CompiledTests;
}

// In a terminal Node would tell every test to print in colours, and with it every program that a test starts.
Object.defineProperty(process.stdout, 'isTTY', { value: false });

/** Never rejects: what is wrong with the file is a failure of it. */
export async function runFile(
  path: string,
  { limitMs = LIMIT_MS, compiled }: FileOptions = {},
): Promise<FileRun> {
  const begin = performance.now();
  const program = compiled?.programOf(path) ?? path;
  const readable = (text: string) => compiled?.readable(text) ?? text;
  const found: Pick<FileRun, 'passed' | 'failures' | 'skipped'> = { passed: 0, failures: [], skipped: [] };
  let end: FileEnd = 'ended';
  const stream = run({ files: [program], concurrency: 1, timeout: limitMs });
  // The process of a file is a test of its own, which is told of where it adds something to its tests.
  const isFile = (name: string, nesting: number) => nesting === 0 && resolve(name) === resolve(program);
  stream.on('test:pass', ({ name, nesting, skip, details }) => {
    if (isFile(name, nesting)) end = 'no tests';
    else if (skip !== undefined && skip !== false)
      found.skipped.push({ name, reason: skip === true ? 'no reason is given' : skip });
    else if (details.type !== 'suite') found.passed++;
  });
  stream.on('test:fail', ({ name, nesting, todo, details }) => {
    if (isFile(name, nesting)) end = isTimeout(details.error) ? 'hung' : 'crashed';
    else if (details.type !== 'suite' && (todo === undefined || todo === false))
      found.failures.push({ name, message: readable(messageOf(details.error)) });
  });
  const pieces: string[] = [];
  for await (const piece of stream.compose(new spec())) pieces.push(String(piece));
  if (end !== 'ended') found.failures.push({ name: path, message: ENDS[end] });
  return {
    path,
    ...found,
    end,
    seconds: (performance.now() - begin) / 1000,
    cpuSeconds: childrenCpuSeconds(),
    output: readable(pieces.join('').replace(REPEATED, '').replace(TOTALS, '')),
    load: loadNow(),
  };
}

const ENDS: Record<Exclude<FileEnd, 'ended'>, string> = {
  crashed:
    'The process of the file ended by a signal, by an exit of its own, or by an error outside of its tests.',
  hung: 'The file was ended after its time: a test hangs, or something is left open, a handle or a process that holds its output.',
  'no tests': 'The file told of no test: it has none, or left before the first was over.',
};

function isTimeout(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'testTimeoutFailure';
}

/** The runner wraps what was thrown. */
function messageOf(error: Error): string {
  const { cause } = error;
  return cause instanceof Error ? cause.message : String(cause ?? error.message);
}
