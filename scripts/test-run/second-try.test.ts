/** Each rule of the second tries, with small files that pass, fail, crash and hang. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chanceIn } from './certain.ts';
import { childrenCpuSeconds } from './cpu-time.ts';
import { type FileEnd, type FileRun, runFile } from './one-file.ts';
import type { TestRun } from './run.ts';
import { tryAgain } from './second-try.ts';
import { summary } from './summary.ts';

const SCRIPT = fileURLToPath(new URL('../test.ts', import.meta.url));
/** As in package.json. */
const PRELOAD = new URL('typescript.mjs', import.meta.url).href;
const HEAD = `import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
`;
const WITH_CHANCE = `import { spawnSync } from 'node:child_process';\n${HEAD}`;

/** A test that writes down each run, and passes where its letter is a P. */
function scripted(name: string, letters: string): string {
  return `test('of ${name}', () => {
  appendFileSync('${name}.runs', '.');
  const run = readFileSync('${name}.runs', 'utf8').length;
  assert.equal('${letters}'[run - 1] ?? 'none', 'P', 'run ' + run + ' of ${name}');
});
`;
}

function folderOf(t: TestContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-tries-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['packages', 'scripts', 'bench']) mkdirSync(join(folder, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'packages', name), text);
  return folder;
}

function runAll(folder: string, ...words: string[]) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: folder, env, encoding: 'utf8' as const, timeout: 120_000 };
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', PRELOAD, SCRIPT, ...words],
    options,
  );
  const lines = stdout.trimEnd().split('\n');
  return { status, text: stdout + stderr, last: lines.at(-1)! };
}

const runsOf = (folder: string, name: string) => readFileSync(join(folder, `${name}.runs`), 'utf8').length;

test('what fails by chance passes alone, and is told; what is broken does not', (t) => {
  const folder = folderOf(t, {
    'good.test.ts': `${HEAD}test('good', () => {});\ntest('not here', { skip: 'no PMU' }, () => {});\n`,
    'chance.test.ts': WITH_CHANCE + scripted('chance', 'FPP'),
  });
  const green = runAll(folder);
  assert.equal(green.status, 0, green.text);
  assert.equal(green.last, '2 passed, 0 failed, 1 skipped');
  assert.match(
    green.text,
    /1 files passed at a second try:\n {2}packages\/chance\.test\.ts: passed twice in a row/,
  );
  assert.match(green.text, /At first \(load [\d.]+.*\):\n {4}of chance\n {6}run 1 of chance/);
  assert.equal(runsOf(folder, 'chance'), 3);

  writeFileSync(join(folder, 'packages/broken.test.ts'), WITH_CHANCE + scripted('broken', 'FPFP'));
  writeFileSync(join(folder, 'chance.runs'), '');
  const red = runAll(folder);
  assert.equal(red.status, 1);
  assert.equal(red.last, '2 passed, 1 failed, 1 skipped');
  assert.match(red.text, /✖ packages\/broken\.test\.ts: of broken\n {4}run 1 of broken/);
  assert.match(red.text, /broken\.test\.ts: failed again, alone \(passed; failed: of broken\)/);
  assert.equal(runsOf(folder, 'broken'), 3);

  writeFileSync(join(folder, 'chance.runs'), '');
  assert.equal(runAll(folder, '--no-second-try', 'chance').status, 1);
  assert.equal(runsOf(folder, 'chance'), 1);
});

test('a crash, a fuzzer and a file without chance are red at once', (t) => {
  const folder = folderOf(t, {
    'certain.test.ts': HEAD + scripted('certain', 'FPP'),
    'chance.test.ts': WITH_CHANCE + scripted('chance', 'FPP'),
    'crash.test.ts': `${WITH_CHANCE}test('crash', () => process.kill(process.pid, 'SIGKILL'));\n`,
    'random.fuzz.ts': WITH_CHANCE + scripted('random', 'FPP'),
  });
  const red = runAll(folder);
  assert.equal(red.status, 1);
  assert.match(red.text, /packages\/certain\.test\.ts: it starts nothing and reads no clock/);
  assert.match(red.text, /packages\/crash\.test\.ts: crashed\. Such a file is not tried again/);
  assert.match(red.text, /packages\/random\.fuzz\.ts: what a fuzzer finds/);
  for (const name of ['certain', 'chance', 'random']) assert.equal(runsOf(folder, name), 1, name);
  assert.equal(red.last, '0 passed, 4 failed, 0 skipped');
});

test('a file that hangs, leaves a handle or a process, ends otherwise, or has no tests', async (t) => {
  const bodies: [FileEnd, string][] = [
    ['ended', `test('a', () => {});`],
    ['hung', `test('a', () => void setInterval(() => {}, 1000));`],
    ['hung', `test('a', () => new Promise((resolve) => setTimeout(resolve, 60_000)));`],
    ['hung', `test('a', () => spawn('sleep', ['20'], { stdio: 'inherit', detached: true }).unref());`],
    ['no tests', `test('a', () => process.exit(0)); test('b', () => { throw new Error('never seen'); });`],
    ['crashed', `test('a', () => void setTimeout(() => { throw new Error('late'); }, 20));`],
    ['crashed', `throw new Error('at load');`],
    ['no tests', ''],
  ];
  const files = bodies.map(([, body], at): [string, string] => [
    `${at}.test.ts`,
    `import { spawn } from 'node:child_process';\nimport { test } from 'node:test';\n${body}\n`,
  ]);
  const folder = folderOf(t, Object.fromEntries(files));
  // Inside of a test, node:test would run no files.
  delete process.env['NODE_TEST_CONTEXT'];
  for (const [at, [end, body]] of bodies.entries()) {
    const run = await runFile(join(folder, 'packages', `${at}.test.ts`), {
      limitMs: end === 'hung' ? 4_000 : 60_000,
    });
    assert.equal(run.end, end, body);
    assert.equal(run.failures.length, end === 'ended' ? 0 : 1, body);
  }
});

test('the CPU time of a file is that of its process and of what it waited for', async (t) => {
  const spin = 'while (process.cpuUsage().user < 3e5);';
  const folder = folderOf(t, {
    'a.test.ts': `import { spawnSync } from 'node:child_process';\nimport { test } from 'node:test';\ntest('a', () => void spawnSync(process.execPath, ['-e', '${spin}']));\n`,
  });
  delete process.env['NODE_TEST_CONTEXT'];
  childrenCpuSeconds();
  const { cpuSeconds } = await runFile(join(folder, 'packages/a.test.ts'));
  assert.ok(cpuSeconds! >= 0.3 && cpuSeconds! < 30, `${cpuSeconds}`);
  assert.equal(childrenCpuSeconds(), 0, 'nothing else has ended');
});

const fileRun = (path: string, failures: number, end: FileEnd = 'ended'): FileRun => ({
  path,
  passed: 3 - failures,
  failures: Array.from({ length: failures }, (_, at) => ({ name: `test ${at}`, message: 'why' })),
  skipped: [],
  end,
  seconds: 1,
  cpuSeconds: null,
  output: '',
  load: { loadAverage: 7.5, cpuPressurePercent: null },
});
const testRun = (...files: FileRun[]): TestRun => ({ files, retries: [], elapsedSeconds: 2 });

test('two passes in a row within three tries, no more tries than needed', async () => {
  for (const [letters, tries, passes] of [
    ['PP', 2, true],
    ['FPP', 3, true],
    ['PF', 2, false],
    ['FF', 2, false],
    ['FPF', 3, false],
    ['C', 1, false],
  ] as const) {
    let count = 0;
    const { result, passedLater, refusals } = await tryAgain(
      testRun(fileRun('a', 0), fileRun('b', 2)),
      () => false,
      async (path) => {
        const letter = letters[count++];
        return testRun(fileRun(path, letter === 'P' ? 0 : 1, letter === 'C' ? 'crashed' : 'ended'));
      },
    );
    assert.equal(count, tries, letters);
    assert.equal(passedLater.length, passes ? 1 : 0, letters);
    assert.equal(refusals.length, passes ? 0 : 1, letters);
    assert.equal(
      result.files.some(({ failures }) => failures.length > 0),
      !passes,
      letters,
    );
    assert.equal(result.elapsedSeconds, 2 + 2 * tries);
  }
});

test('six files are tried again, seven are not', async () => {
  for (const count of [6, 7]) {
    const failed = Array.from({ length: count }, (_, at) => fileRun(`f${at}`, 1));
    const again: string[] = [];
    const { refusals } = await tryAgain(
      testRun(...failed),
      () => false,
      async (path) => {
        again.push(path);
        return testRun(fileRun(path, 0));
      },
    );
    assert.equal(again.length, count === 6 ? 12 : 0);
    assert.deepEqual(refusals.length, count === 6 ? 0 : 1);
  }
});

test('a run without failures is left as it is', async () => {
  const result = testRun(fileRun('a', 0));
  const never = () => assert.fail('nothing to try');
  assert.deepEqual(await tryAgain(result, never, never), { result, passedLater: [], refusals: [] });
});

test('chance is found however far the imports lead, and not in words about it', () => {
  const texts = new Map([
    [
      'a/calm.test.ts',
      `import './b.ts';\nimport type { X } from './clock.ts';\n// Date.now() is not read here.\n`,
    ],
    [
      'a/b.ts',
      `export * from './c.ts';\n/** As setTimeout( would. */\nnew URL('./data.bin', import.meta.url);\n`,
    ],
    ['a/c.ts', `import './b.ts';\n`],
    ['a/far.test.ts', `import './d.ts';\n`],
    ['a/d.ts', `const late = await import('./clock.ts');\n`],
    ['a/clock.ts', 'export const now = () => Date.now();\n'],
    ['a/worker.test.ts', `import { Worker } from 'node:worker_threads';\n`],
    ['a/kernel.test.ts', `import koffi from 'koffi';\n`],
  ]);
  assert.equal(chanceIn('a/calm.test.ts', texts), null);
  assert.equal(chanceIn('a/far.test.ts', texts), 'a/clock.ts');
  assert.equal(chanceIn('a/worker.test.ts', texts), 'a/worker.test.ts');
  assert.equal(chanceIn('a/kernel.test.ts', texts), 'a/kernel.test.ts');
});

test('the last lines count what was skipped, what was tried again and what failed', () => {
  const skipped = [{ name: 'b', reason: 'no perf' }];
  const text = summary({
    result: {
      files: [
        { ...fileRun('a.test.ts', 1), skipped, seconds: 1.26, cpuSeconds: 2.04 },
        fileRun('b.test.ts', 0),
      ],
      retries: [{ file: `${process.cwd()}/a.test.ts`, missed: 2, why: '9 ms' }],
      elapsedSeconds: 61.2,
    },
    passedLater: [
      { first: fileRun('b.test.ts', 1), again: [fileRun('b.test.ts', 1), fileRun('b.test.ts', 0)] },
    ],
    refusals: ['a.test.ts: crashed.'],
  });
  assert.match(text, /✖ a\.test\.ts: test 0\n {4}why\n/);
  assert.match(text, /5 tests passed, 1 failed, 1 were skipped, in 2 files and 61 s\./);
  assert.match(
    text,
    /skipped 1: no perf\n1 assertions on time were tried again\.\n {2}a\.test\.ts: 2 missed, 9 ms/,
  );
  assert.match(text, /1\.3 s, 2\.0 s of CPU time {2}a\.test\.ts/);
  assert.match(
    text,
    /b\.test\.ts: passed twice in a row, alone, after it had failed 2 times\. At first \(load 7\.5\)/,
  );
  assert.match(text, /\na\.test\.ts: crashed\.\n5 passed, 1 failed, 1 skipped$/);
});
