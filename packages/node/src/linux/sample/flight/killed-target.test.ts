/**
 * Targets that are killed, that fork and that exec: the last file has their names. Recorders that are killed.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { FlightProcess } from '../../../test/flight-process.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';
import { type FlightDump, flight } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'processes of others need root';

/** Shares of time by some columns. */
async function shares(
  path: string,
  sort: ('comm' | 'dso' | 'symbol')[],
  children = false,
): Promise<Map<string, number>> {
  await using recording = await openRecording(path);
  const { rows } = topFunctions((await recording.profile()).profile, { sort, children });
  const text = (row: (typeof rows)[number]) => sort.map((column) => row[column] ?? '[unknown]').join(' ');
  return new Map(rows.map((row) => [text(row), row.percent]));
}

const total = (found: ReadonlyMap<string, number>, pattern: RegExp) =>
  [...found].filter(([name]) => pattern.test(name)).reduce((sum, [, percent]) => sum + percent, 0);

/** How long a process has had a CPU. */
const ranMs = (pid: number) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

for (const how of ['its command', 'a process that ran before'])
  test(`kill -9 of ${how}: the file has names`, { skip }, async (t) => {
    const words = ['--perf-basic-prof', '--interpreted-frames-native-stack', '-e'];
    const script = `function lastWork() { for (;;) Math.sqrt(Date.now()); } console.log('up'); lastWork();`;
    const dumps: FlightDump[] = [];
    const options = {
      events: 'cpu-clock:u',
      frequency: 999,
      directory: temporaryFolder(t),
      on: ['exit'],
      onDump: (dump: FlightDump) => dumps.push(dump),
    };
    const command = [process.execPath, ...words, script];
    const target = how === 'its command' ? null : spawn(command[0]!, command.slice(1));
    t.after(() => target?.kill('SIGKILL'));
    if (target !== null) await once(target.stdout, 'data');
    await using recorder = await flight({
      ...options,
      ...(target === null ? { command } : { pids: [target.pid!] }),
    });
    const pid = target?.pid ?? recorder.pid!;
    assert.ok(await until(() => ranMs(pid) > 1000));
    process.kill(pid, 'SIGKILL');
    const end = await recorder.ended;
    assert.equal(end.reason, target === null ? 'command-exited' : 'target-ended');
    assert.equal(end.exit?.signal ?? null, target === null ? 'SIGKILL' : null);
    assert.equal(dumps.length, 1);
    assert.match(dumps[0]!.trigger, target === null ? /^exit: SIGKILL/ : /^exit/);
    const found = await shares(dumps[0]!.path, ['symbol'], true);
    assert.ok(total(found, /^JS:\W?lastWork/) > 60, JSON.stringify([...found].slice(0, 8)));
  });

test('who forks and execs has the names of its time, as perf sees them', { skip }, async (t) => {
  // Three programs in one process, and in a child each; the shell waits for none of them in the end.
  const command =
    'timeout 0.4 sha1sum < /dev/zero; (timeout 0.4 perl -e "while (1) { \\$x++ }"); exec timeout 0.4 gzip -c < /dev/zero > /dev/null';
  const dumps: FlightDump[] = [];
  const recorder = await flight({
    command: ['sh', '-c', command],
    events: 'cpu-clock:u',
    frequency: 1999,
    directory: temporaryFolder(t),
    on: ['exit'],
    onDump: (dump) => dumps.push(dump),
  });
  await recorder.ended;
  const found = await shares(dumps[0]!.path, ['comm', 'dso']);
  for (const name of ['sha1sum', 'perl', 'gzip']) {
    const own = total(found, new RegExp(`^${name} `));
    assert.ok(own > 5, `${name}: ${JSON.stringify([...found])}`);
    // The time of each is in its own program and its libraries.
    const inside = total(found, new RegExp(`^${name} (${name}|lib\\S+|ld-\\S+|\\[vdso\\])`));
    assert.ok(inside > 0.95 * own, `${name}: ${JSON.stringify([...found])}`);
  }
  if (perfIsMissing() !== false) return;
  let compared = 0;
  const lines = perf(
    'report',
    '-i',
    dumps[0]!.path,
    '--stdio',
    '--no-children',
    '-g',
    'none',
    '--sort',
    'comm,dso',
  );
  for (const [, percent, comm, dso] of lines.matchAll(/^ +([\d.]+)% +(\S+) +(\S+) *$/gm)) {
    const ours = found.get(`${comm} ${dso}`) ?? 0;
    assert.ok(Math.abs(ours - Number(percent)) < 0.1, `${comm} ${dso}: ${ours}, perf has ${percent}`);
    compared++;
  }
  assert.ok(compared > 2, lines);
});

test('kill -9 of a recorder while it writes: earlier files are whole, and no file is half', {
  skip,
}, async (t) => {
  const directory = temporaryFolder(t);
  const target = spawn('sha1sum', ['/dev/zero'], { stdio: 'ignore' });
  t.after(() => target.kill('SIGKILL'));
  for (let round = 0; round < 2; round++) {
    using recorder = await FlightProcess.start({
      pids: [target.pid!],
      events: 'cpu-clock',
      frequency: 10_000,
      directory,
      prefix: `round${round}`,
    });
    await sleep(300);
    await recorder.dump();
    recorder.dump().catch(() => {});
    await sleep(round * 8);
    recorder.child.kill('SIGKILL');
    await once(recorder.child, 'exit');
  }
  const files = readdirSync(directory).filter((name) => name.endsWith('.data'));
  assert.ok(files.length >= 2, files.join(' '));
  for (const name of files) {
    await using recording = await openRecording(join(directory, name));
    const { samples, loss } = await recording.stats();
    assert.ok(samples > 0, name);
    assert.deepEqual(
      loss.filter(({ kind }) => kind !== 'history-paused'),
      [],
      name,
    );
  }
});
