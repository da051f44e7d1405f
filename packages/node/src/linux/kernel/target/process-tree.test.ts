/** What begins below a process is noticed, whatever it is called. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';
import { ProcessTree } from './process-tree.ts';

/** A shell that does what it is told, and the programs that a tree finds below it. */
function followShell(t: TestContext) {
  const shell = spawn('sh', ['-c', 'while read -r line; do eval "$line"; done'], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  });
  t.after(() => process.kill(-shell.pid!, 'SIGKILL'));
  const found: { pid: number; program: string }[] = [];
  const tree = new ProcessTree(shell.pid!, (pid, program) => found.push({ pid, program }));
  t.after(() => tree[Symbol.dispose]());
  const has = (name: string) => () => found.some(({ program }) => program.endsWith(`/${name}`));
  return { tell: (line: string) => shell.stdin.write(`${line}\n`), found, has, tree };
}

const openFiles = () => readdirSync('/proc/self/fd').length;

describe('the processes below one', () => {
  test('children, their children, and what they run later', async (t) => {
    const { tell, has } = followShell(t);
    tell('sh -c "sleep 1000; true" &');
    assert.ok(await until(has('sleep')));
    tell('(sleep 0.2; exec tail -f /dev/null) &');
    assert.ok(await until(has('tail')));
  });

  test('a wrapper that runs another program of its own name, late', async (t) => {
    const { tell, has, found } = followShell(t);
    const folder = temporaryFolder(t);
    const program = join(folder, 'real', 'same');
    const wrapper = join(folder, 'same');
    spawn('mkdir', ['-p', join(folder, 'real')]).once('exit', () => {
      copyFileSync('/bin/sleep', program);
      chmodSync(program, 0o755);
      // Longer than programs are looked at all the time.
      writeFileSync(wrapper, `#!/bin/sh\nsleep 0.9\nexec ${program} 1000\n`, { mode: 0o755 });
      tell(`${wrapper} &`);
    });
    assert.ok(await until(has('same')));
    assert.ok(found.some(({ program: one }) => one === program));
  });

  test('what has ended is let go', async (t) => {
    const before = openFiles();
    const { tell, has, tree } = followShell(t);
    tell('for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5 & done; wait');
    assert.ok(await until(has('sleep')));
    const hasLetGo = () => {
      tree.look();
      // Those of the shell, and its pipe.
      return openFiles() <= before + 4;
    };
    assert.ok(await until(hasLetGo));
    tree[Symbol.dispose]();
  });
});
