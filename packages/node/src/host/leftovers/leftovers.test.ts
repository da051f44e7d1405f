/** What killed processes left goes at the next start of a verb; what may be of one that runs stays. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { realSys } from '../../linux/kernel/sys/index.ts';
import { counterpoint } from '../../test/command-line.ts';
import { NOBODY } from '../../test/ordinary-user.ts';
import { temporaryFolder } from '../../test/perf.ts';
import { IN_PID_NAMESPACE, noPidNamespace } from '../../test/pid-namespace.ts';
import { noTracepoints } from '../../test/rights.ts';
import { sourceModule, sourceOptions } from '../../test/sources.ts';
import { until } from '../../test/until-told.ts';
import { groupOf, removeLeftDirectories, thisOwner } from './index.ts';

const MODULE = sourceModule('host/leftovers/index.ts');
const LOADER = [...sourceOptions(), '--input-type=module', '-e'];
const isRoot = process.geteuid?.() === 0;
/** This process as it was before its number was given again. */
const ENDED = groupOf({ ...thisOwner(), startTicks: '1' });

function makePrivate(path: string): void {
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, 'perf.data'), 'x');
}

test('a temporary directory stays while its process runs, and goes when it was killed', async (t) => {
  const folder = temporaryFolder(t);
  const script = `const { temporaryDirectory } = await import(${JSON.stringify(MODULE)});
console.log(await temporaryDirectory('test'));
setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, [...LOADER, script], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [path] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  writeFileSync(join(path, 'perf.data'), 'x');
  removeLeftDirectories(folder);
  assert.deepEqual(readdirSync(path), ['perf.data']);
  child.kill('SIGKILL');
  await once(child, 'exit');
  removeLeftDirectories(folder);
  assert.deepEqual(readdirSync(folder), []);
});

test('what somebody else may have made, or may still use, stays', (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const own = `${groupOf(thisOwner())}.loop-abcdef`;
  const kept = [own, 'counterpoint-loop-abcdef', `${ENDED}.loop-toolong`, `x${ENDED}.loop-abcdef`];
  for (const name of kept) makePrivate(at(name));
  makePrivate(at('target'));
  symlinkSync(at('target'), at(`${ENDED}.loop-linked`));
  writeFileSync(at(`${ENDED}.loop-afiles`), 'x');
  makePrivate(at(`${ENDED}.loop-opened`));
  chmodSync(at(`${ENDED}.loop-opened`), 0o755);
  makePrivate(at(`${ENDED}.loop-others`));
  if (isRoot) chownSync(at(`${ENDED}.loop-others`), NOBODY, NOBODY);
  const all = readdirSync(folder).filter((name) => isRoot || !name.endsWith('others'));
  makePrivate(at(`${ENDED}.loop-removd`));
  // Everybody could put another directory in its place.
  chmodSync(folder, 0o777);
  removeLeftDirectories(folder);
  assert.ok(existsSync(at(`${ENDED}.loop-removd`)));
  chmodSync(folder, 0o1777);
  removeLeftDirectories(folder);
  assert.deepEqual(readdirSync(folder), all);
  removeLeftDirectories(join(folder, 'none'));
});

test('from another pid namespace nothing is judged', { skip: noPidNamespace() }, (t) => {
  const folder = temporaryFolder(t);
  makePrivate(join(folder, `${ENDED}.loop-abcdef`));
  const script = `const { removeLeftDirectories } = await import(${JSON.stringify(MODULE)});
removeLeftDirectories(${JSON.stringify(folder)});`;
  const [program, ...words] = [...IN_PID_NAMESPACE, process.execPath, ...LOADER, script];
  const { status, stderr } = spawnSync(program!, words, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.equal(readdirSync(folder).length, 1);
  removeLeftDirectories(folder);
  assert.deepEqual(readdirSync(folder), []);
});

for (const words of [
  ['record', '-o', 'OUTPUT', '--', 'true'],
  ['stat', '-e', 'task-clock', '--', 'true'],
  ['flight', '-o', 'OUTPUT', '--', 'true'],
  ['doctor'],
])
  test(`${words[0]} begins with the removal of what was left`, { skip: noTracepoints }, async (t) => {
    const folder = temporaryFolder(t);
    const before = process.env['TMPDIR'];
    t.after(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
    process.env['TMPDIR'] = folder;
    const path = join(folder, `${ENDED}.loop-abcdef`);
    makePrivate(path);
    const probe = `${ENDED}/left_${words[0]}`;
    if (isRoot) realSys.appendTracefs('uprobe_events', `p:${probe} ${process.execPath}:0x0`);
    await counterpoint(...words.map((word) => word.replace('OUTPUT', join(folder, 'output'))));
    assert.ok(!existsSync(path));
    await until(() => !realSys.readTracefs('uprobe_events').includes(probe));
  });
