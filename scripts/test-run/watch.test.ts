/** `--watch` in a folder of its own: saves in place, saves by renaming, a new test. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../test.ts', import.meta.url));
const WAITING = 'Press Ctrl-C to stop.';
const PATIENCE_MS = 60_000;

test('a change runs what imports it again, however it is saved', { timeout: 4 * PATIENCE_MS }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-watch-'));
  for (const name of ['packages/a', 'scripts', 'bench']) mkdirSync(join(folder, name), { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, 'packages/a', name), text);
  const testOf = (source: string) => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { value } from './${source}.ts';
test('of ${source}', () => assert.equal(value, 1));
`;
  for (const name of ['one', 'two']) {
    write(`${name}.ts`, 'export const value = 1;\n');
    write(`${name}.test.ts`, testOf(name));
  }

  const tsx = import.meta.resolve('tsx');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', tsx, SCRIPT, '--fast', '--watch', 'packages/a'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.on('exit', (_, signal) => resolve(signal)),
  );
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  });
  let printed = '';
  let look = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    look();
  });
  /** What it prints up to where it waits. */
  const nextRun = async () => {
    const end = await new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no end of a run in: ${printed}`)), PATIENCE_MS);
      look = () => {
        const at = printed.indexOf(WAITING);
        if (at === -1) return;
        clearTimeout(timer);
        resolve(at);
      };
      look();
    });
    const text = printed.slice(0, end);
    printed = printed.slice(end + WAITING.length);
    return text;
  };

  assert.match(await nextRun(), /2 tests passed, 0 failed/);
  write('one.ts', 'export const value = 2;\n');
  const broken = await nextRun();
  assert.match(broken, /0 tests passed, 1 failed/);
  assert.doesNotMatch(broken, /of two/);
  // Twice: node --watch saw the first.
  for (const value of [1, 3]) {
    write('one.ts.new', `export const value = ${value};\n`);
    renameSync(join(folder, 'packages/a/one.ts.new'), join(folder, 'packages/a/one.ts'));
    assert.match(await nextRun(), value === 1 ? /1 tests passed, 0 failed/ : /0 tests passed, 1 failed/);
  }
  write('three.test.ts', testOf('two'));
  assert.match(await nextRun(), /1 tests passed, 0 failed/);
  child.kill('SIGINT');
  assert.equal(await ended, 'SIGINT');
});
