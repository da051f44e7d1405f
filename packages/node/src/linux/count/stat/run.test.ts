import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Fd, realSys, type Sys } from '../../kernel/sys/index.ts';
import { countRun } from './run.ts';

test('a run that is aborted already starts nothing', async () => {
  const trace = join(tmpdir(), `counterpoint-aborted-${process.pid}`);
  const run = countRun({
    scope: { kind: 'command' },
    command: ['/bin/touch', trace],
    control: null,
    signal: AbortSignal.abort(),
    onStart: () => assert.fail('it began'),
  });
  await assert.rejects(run, { code: 'ERR_ABORTED' });
  await sleep(50);
  assert.equal(existsSync(trace), false);
});

/**
 * Its own start is no part of the command: with such a name in the environment Node holds
 * it, which takes long to start.
 */
test('neither time begins before the holder stands at its gate', async () => {
  const cpuTimeNs = () => {
    const { userNs, systemNs } = realSys.childrenTimes();
    return Number(userNs + systemNs);
  };
  const before = cpuTimeNs();
  spawnSync(process.execPath, ['-e', '0']);
  const startOfNodeNs = cpuTimeNs() - before;
  const { total, exit } = await countRun({
    scope: { kind: 'command' },
    command: ['true'],
    launch: { env: { PATH: process.env['PATH'], 'a.b': '1' } },
    control: null,
  });
  assert.equal(exit?.code, 0);
  const ownNs = Number(total.times.userNs + total.times.systemNs);
  assert.ok(ownNs < startOfNodeNs / 2, `${ownNs} ns, and Node starts in ${startOfNodeNs}`);
});

test('counters of others stop as the command is seen to end, not when the event loop tells', async () => {
  const calls: string[] = [];
  const sys: Sys = Object.create(realSys, {
    // However slow the machine is, it stays young.
    waitReadable: { value: (fd: Fd, timeoutMs: number) => realSys.waitReadable(fd, timeoutMs && 60_000) },
    disable: {
      value: (fd: Fd, wholeGroup?: boolean) => {
        calls.push('disable');
        realSys.disable(fd, wholeGroup);
      },
    },
    childrenTimes: {
      value: () => {
        calls.push('times');
        return realSys.childrenTimes();
      },
    },
  });
  const { total, exit } = await countRun({
    scope: { kind: 'processes', pids: [process.pid] },
    command: ['true'],
    control: { sets: [{ events: ['task-clock'] }] },
    sys,
  });
  assert.equal(exit?.code, 0);
  // The last times are taken after the event loop has told.
  assert.ok(
    calls.includes('disable') && calls.indexOf('disable') < calls.lastIndexOf('times'),
    calls.join(' '),
  );
  assert.ok(total.events[0]!.count.value! > 0n);
});
