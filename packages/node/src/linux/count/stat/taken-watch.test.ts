/** Counters that the kernel took from the process stand still: that is said. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { skipSpecial, specialProgram } from '../../../test/special-program.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { onlineCpus } from '../../kernel/target/index.ts';
import { countRun, type RunOptions } from './index.ts';
import { MOST_CPUS } from './taken-watch.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-stat-taken-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));

describe('counts of a program with more rights', { skip: skipSpecial(directory) }, () => {
  const shell = specialProgram(join(directory, 'special-sh'), '/bin/sh');
  const control: RunOptions['control'] = { sets: [{ name: 'one', events: 'page-faults' }] };
  const launch = { stdio: ['ignore', 'ignore', 'ignore'] } satisfies RunOptions['launch'];
  const told = async (command: readonly string[]) => {
    const { notes, exit } = await countRun({ scope: { kind: 'command' }, command, control, launch });
    assert.equal(exit?.code, 5);
    return notes.filter(({ kind }) => kind === 'events-taken').map(({ text }) => text);
  };

  test('the command, and what it becomes', async () => {
    const [text] = await told([shell, '-c', 'exit 5']);
    assert.ok(text!.includes(`${shell} `));
    assert.match((await told(['env', shell, '-c', 'exit 5'])).join(), /special-sh \(process \d+\)/);
  });

  test('children of it, one note for each name', {
    skip: onlineCpus().length > MOST_CPUS && 'too many CPUs to watch children',
  }, async () => {
    const notes = await told([
      'sh',
      '-c',
      `ls /; for i in 1 2 3; do ${shell} -c :; done; (sh -c ls); exit 5`,
    ]);
    assert.equal(notes.length, 1);
    assert.match(notes[0]!, /^special-sh \(process \d+ and 2 more\) is no longer watched/);
    // As many programs as fill the rings several times: they are read meanwhile.
    const many = `i=0; while [ $i -lt 900 ]; do ls /nowhere; i=$((i+1)); done; ${shell} -c :; exit 5`;
    assert.match((await told(['sh', '-c', many])).join(), /^special-sh \(process \d+\) is/);
  });

  test('who does not count children hears nothing of them', async () => {
    const command = ['sh', '-c', `${shell} -c :; exit 5`];
    const { notes } = await countRun({
      scope: { kind: 'command' },
      command,
      control,
      launch,
      inherit: false,
    });
    assert.deepEqual(
      notes.filter(({ kind }) => kind === 'events-taken'),
      [],
    );
  });

  test('an ordinary command is not one', async () => {
    assert.deepEqual(await told(['sh', '-c', 'exec sh -c "exit 5"']), []);
  });

  test('a process that was there before', async () => {
    const child = spawn('sh', ['-c', `read go; exec ${shell} -c 'read end'`], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const { notes } = await countRun({
      scope: { kind: 'processes', pids: [child.pid!] },
      control,
      onStart: () => void child.stdin.end('\n'),
    });
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(notes.filter(({ kind }) => kind === 'events-taken').length, 1);
  });

  for (const [options, pattern] of [
    [[], /^ {2}special-sh \(process \d+\) is no longer watched/m],
    [['-x,'], /^# special-sh \(process \d+\) is no longer watched/m],
    [['-x,', '-I', '1000'], /^# special-sh \(process \d+\) is no longer watched/m],
  ] as const)
    test(`on the command line: stat ${options.join(' ')}`, async () => {
      const { err } = await counterpoint('stat', ...options, '-e', 'page-faults', '--', shell, '-c', ':');
      assert.match(err, pattern);
    });
});
