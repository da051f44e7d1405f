/**
 * `npm run proof`: the long form of the tests, for a release. It needs root for the run without tracefs, and
 * writes what it found into docs/proof.md.
 * `npm run proof -- STEP...` runs some, and writes nothing.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { busyMachine } from './test-run/steady.ts';

const PAGE = 'docs/proof.md';
const TABLE = /(?<=<!-- npm run proof writes what follows -->\n)[\s\S]*$/;
/** Of a run of all tests in their short form, on a machine that does nothing else. */
const MOST_QUIET_SECONDS = 15 * 60;
const FUZZ_SECONDS = 120;

interface Step {
  name: string;
  what: string;
  command: readonly string[];
  /** Beside two loops that want the CPUs. */
  isBusy?: boolean;
  isLong?: boolean;
  mostSeconds?: number;
}

const ALL_TESTS = ['npm', 'run', 'test:files', '--'];
const WITHOUT_TRACEFS = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'umount -R /sys/kernel/tracing /sys/kernel/debug; exec "$@"',
  'sh',
];
const STEPS: readonly Step[] = [
  {
    name: 'quiet',
    what: 'all tests, on a quiet machine',
    command: ALL_TESTS,
    mostSeconds: MOST_QUIET_SECONDS,
  },
  {
    name: 'long',
    what: 'tests with a long form: a fresh clone packed, TypeScript 6, cut files at every length, older versions of Node',
    command: [...ALL_TESTS, 'scripts/consumer', 'scripts/pack', 'cut-', 'src/javascript/', 'cli/report/'],
    isLong: true,
  },
  {
    name: 'perf',
    what: "perf's own tests, with our command in its place",
    command: ['npm', 'run', 'test:perf'],
  },
  {
    name: 'fuzz',
    what: `each fuzzer for ${FUZZ_SECONDS} s`,
    command: ['npm', 'run', 'fuzz', '--', `${FUZZ_SECONDS}`],
  },
  { name: 'busy', what: 'all tests, beside two busy loops', command: ALL_TESTS, isBusy: true },
  {
    name: 'no-tracefs',
    what: 'all tests, beside two busy loops and without tracefs',
    command: [...WITHOUT_TRACEFS, ...ALL_TESTS],
    isBusy: true,
  },
];

interface Outcome {
  step: Step;
  seconds: number;
  lastLine: string;
  hasPassed: boolean;
}

async function run(step: Step): Promise<Outcome> {
  console.log(`\n# ${step.what}`);
  using _busy = step.isBusy ? busyMachine() : null;
  const [program, ...words] = step.command;
  const env = { ...process.env, ...(step.isLong ? { COUNTERPOINT_PROOF: '1' } : {}) };
  const begin = performance.now();
  const child = spawn(program!, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    process.stdout.write(piece);
    text = (text + piece).slice(-10_000);
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const seconds = (performance.now() - begin) / 1000;
  const isInTime = seconds <= (step.mostSeconds ?? Number.POSITIVE_INFINITY);
  const lastLine = text.trimEnd().split('\n').at(-1) ?? '';
  return { step, seconds, hasPassed: status === 0 && isInTime, lastLine };
}

function pageOf(outcomes: readonly Outcome[]): string {
  const { length } = cpus();
  const rows = outcomes.map(
    ({ step, seconds, hasPassed, lastLine }) =>
      `| ${step.what} | ${hasPassed ? 'passed' : 'FAILED'} | ${(seconds / 60).toFixed(1)} | ${lastLine.replaceAll('|', '\\|')} |`,
  );
  return [
    `Last run: ${new Date().toISOString().slice(0, 10)}, on ${length} CPUs, Linux ${release()}, Node ${process.versions.node}.`,
    '',
    '| step | outcome | minutes | its last line |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

const words = process.argv.slice(2);
const unknown = words.find((word) => !STEPS.some(({ name }) => name === word));
if (unknown !== undefined) {
  const isHelp = unknown === '--help' || unknown === '-h';
  const steps = STEPS.map(({ name, what }) => `  ${name.padEnd(12)}${what}`).join('\n');
  const usage = `Usage: npm run proof [-- STEP...]\nRuns all steps and writes ${PAGE}; with STEP, those alone.\n${steps}`;
  console[isHelp ? 'log' : 'error'](isHelp ? usage : `There is no step ${unknown}.\n${usage}`);
  process.exit(isHelp ? 0 : 1);
}
const outcomes: Outcome[] = [];
for (const step of STEPS) if (words.length === 0 || words.includes(step.name)) outcomes.push(await run(step));
const text = pageOf(outcomes);
console.log(`\n${text}`);
if (words.length === 0) writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(TABLE, text));
process.exitCode = outcomes.every(({ hasPassed }) => hasPassed) ? 0 : 1;
