/** What V8 writes because a command was recorded is gone when the recording ends, however it ends. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openRecording } from '../../../host/open/index.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { until } from '../../../test/until-told.ts';
import { examineMachine } from '../../kernel/probe/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import type { RecordOptions } from './options.ts';
import { record } from './record.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-leftovers-'));
after(() => rmSync(folder, { recursive: true }));
const { canRecord } = examineMachine(realSys, 1);
const NODE = process.execPath;
const { NODE_OPTIONS: _, ...given } = process.env;
const env = { ...given, PATH: `${dirname(NODE)}:${given['PATH']}` };
// So many ms on a CPU, also where others want it.
const HOT =
  'function hot() { const used = () => process.cpuUsage(start).user / 1000, start = process.cpuUsage(); while (used() < 300) for (let n = 1e4; n > 0; n--) Math.sqrt(n); } hot();';

const recordOf = (command: string[], more: Partial<RecordOptions> = {}) =>
  record({
    command,
    events: 'cpu-clock:u',
    frequency: 1000,
    callGraph: true,
    output: join(folder, 'left.data'),
    ...more,
    launch: { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'], ...more.launch },
  });

const mapOf = (pid: number) => readFileSync(`/tmp/perf-${pid}.map`, 'utf8');

/** What a process has had of CPUs, in hundredths of a second. */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[11]);
}

const logsIn = (directory: string) => readdirSync(directory).filter((name) => name.startsWith('isolate-'));

/** Processes of the recording whose `hot` has a name; where that holds, the map of each is gone. */
async function namedProcesses(): Promise<Set<number>> {
  await using recording = await openRecording(join(folder, 'left.data'));
  const { profile } = await recording.profile();
  const { samples, threads } = profile;
  const pids = new Set<number>();
  for (let row = 0; row < samples.length; row++)
    if (javascriptStack(profile, samples.stack.at(row)).includes('hot'))
      pids.add(threads.pid.at(samples.thread.at(row)));
  for (const pid of pids) assert.ok(!existsSync(`/tmp/perf-${pid}.map`), `/tmp/perf-${pid}.map is left`);
  return pids;
}

describe('nothing is left', { skip: !canRecord && 'nothing can be recorded here' }, () => {
  test('of a command with children, each in a directory of its own', async () => {
    const below = join(folder, 'below');
    mkdirSync(below);
    await recordOf(['sh', '-c', `cd below && for i in 1 2 3; do node -e '${HOT}'; done; true`]);
    assert.equal((await namedProcesses()).size, 3);
    assert.deepEqual([...logsIn(folder), ...logsIn(below)], []);
  });

  test('of a target that was killed', async () => {
    const end = await recordOf(['node', '-e', `setTimeout(() => process.kill(process.pid, 9), 500); ${HOT}`]);
    assert.equal(end.exitSignal, 'SIGKILL');
    assert.equal((await namedProcesses()).size, 1);
    assert.deepEqual(logsIn(folder), []);
  });

  test('of a recording that Ctrl-C ends', async () => {
    const stop = new AbortController();
    const forever = HOT.replace('300', '120_000');
    const onStart: RecordOptions['onStart'] = async ({ pid: launched }) => {
      const pid = launched ?? 0;
      const isHot = await until(() => existsSync(`/tmp/perf-${pid}.map`) && mapOf(pid).includes('hot'));
      const begin = cpuTicks(pid);
      const hasRun = await until(() => cpuTicks(pid) > begin + 30);
      stop.abort(isHot && hasRun);
    };
    await recordOf(['sh', '-c', `exec node -e '${forever}'`], { signal: stop.signal, onStart });
    assert.equal(stop.signal.reason, true, 'it ran for 0.3 s after its function had a name');
    assert.equal((await namedProcesses()).size, 1);
    assert.deepEqual(logsIn(folder), []);
  });

  test('in the /tmp of a mount namespace', {
    skip: spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'needs root, for a mount',
  }, async () => {
    const inside = `mount -t tmpfs none /tmp && node -e '${HOT}'; ls /tmp | grep -q '^perf-'`;
    const { exitCode } = await recordOf(['unshare', '--mount', 'sh', '-c', inside], {
      launch: { cwd: '/var' },
    });
    assert.equal(exitCode, 0, 'there is a map while it runs');
    assert.equal((await namedProcesses()).size, 1);
    assert.deepEqual(logsIn('/var'), []);
  });

  test('of many processes that live for a moment: all have names', async () => {
    const count = 60;
    const short = HOT.replace('300', '12');
    await recordOf(['sh', '-c', `i=0; while [ $i -lt ${count} ]; do node -e '${short}'; i=$((i+1)); done`], {
      frequency: 4000,
    });
    const named = (await namedProcesses()).size;
    assert.ok(named >= count - 2, `${named} of ${count} have the name of their function`);
    assert.deepEqual(logsIn(folder), []);
  });

  test("V8's log has no name any more while the program runs; one that was asked for stays", async () => {
    const own = join(folder, 'own');
    mkdirSync(own);
    // A busy machine may take longer than the 2 s that it takes else.
    const look = `node -e '
      const { readdirSync, writeFileSync } = require("fs");
      let seconds = 0;
      const turn = () => {
        const names = readdirSync(".").join();
        if (names !== "" && names !== "seen" && ++seconds < 30) setTimeout(turn, 1000);
        else writeFileSync("seen", names);
      };
      setTimeout(turn, 2500);'`;
    await recordOf(['sh', '-c', look], { launch: { cwd: own } });
    assert.equal(readFileSync(join(own, 'seen'), 'utf8'), '');
    const asked = `node --prof -e 'setTimeout(() => {}, 2500)'`;
    await recordOf(['sh', '-c', asked], { launch: { cwd: own } });
    assert.equal(logsIn(own).length, 1);
  });
});

describe('what is not of the command stays', { skip: !canRecord && 'nothing can be recorded here' }, () => {
  test('the map of a process beside it, and of the command where perf shall read it', async () => {
    const flags = ['--perf-basic-prof', '-e', 'console.log(1); setInterval(() => {}, 1000)'];
    const beside: ChildProcess = spawn(NODE, flags, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(beside.stdout!, 'data');
    const theirs = `/tmp/perf-${beside.pid}.map`;
    let pid = 0;
    const onStart: RecordOptions['onStart'] = (start) => {
      pid = start.pid ?? 0;
    };
    await recordOf(['node', '-e', HOT], { keepPerfMaps: true, onStart });
    try {
      assert.ok(existsSync(theirs));
      assert.ok(existsSync(`/tmp/perf-${pid}.map`));
      assert.equal(logsIn(folder).length, 1);
    } finally {
      beside.kill();
      for (const path of [theirs, `/tmp/perf-${pid}.map`]) rmSync(path, { force: true });
      for (const name of logsIn(folder)) rmSync(join(folder, name));
    }
  });
});
