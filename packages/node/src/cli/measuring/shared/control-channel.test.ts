import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  constants,
  lchownSync,
  openSync,
  readFileSync,
  readSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { counterpoint } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { COUNTING_COMMANDS, ControlChannel, parseControlPlace } from './control-channel.ts';

interface Pipe {
  path: string;
  fd: number;
}

function pipe(folder: string, name: string): Pipe {
  const path = join(folder, name);
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  return { path, fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK) };
}

/** What is written to it first, within seconds. */
async function answerOf({ fd }: Pipe): Promise<string> {
  const bytes = new Uint8Array(100);
  for (let attempt = 0; attempt < 1000; attempt++) {
    await setTimeout(5);
    try {
      return new TextDecoder().decode(bytes.subarray(0, readSync(fd, bytes)));
    } catch {
      // Nothing yet.
    }
  }
  return '';
}

const OTHER = 65_534;
const BUSY = ['sh', '-c', 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'];

describe('--control', () => {
  test('-D -1 begins with everything off; between enable and disable it counts', async (t) => {
    const folder = temporaryFolder(t);
    const [commands, answers] = [pipe(folder, 'commands'), pipe(folder, 'answers')];
    const words = ['--control', `fifo:${commands.path},${answers.path}`, '-e', 'task-clock', '--', ...BUSY];
    const run = counterpoint('stat', '-D', '-1', '--json', ...words);
    writeSync(commands.fd, 'enable\n');
    assert.equal(await answerOf(answers), 'ack\n');
    await setTimeout(60);
    writeSync(commands.fd, 'disable\n');
    assert.equal(await answerOf(answers), 'ack\n');
    const answer = JSON.parse((await run).err);
    const [row] = answer.rows;
    assert.equal(row.status, 'counted');
    const countedNs = Number(row.count);
    assert.ok(countedNs > 1e6 && countedNs < 0.7 * Number(answer.runs[0].elapsedNs), JSON.stringify(answer));
  });

  test('what is never enabled is not counted; a descriptor will do, and stays open for the next run', async (t) => {
    const { fd } = pipe(temporaryFolder(t), 'commands');
    const words = ['-D', '-1', '--control', `fd:${fd}`, '-r', '2', '-e', 'faults', 'true'];
    const { err, status } = await counterpoint('stat', '--json', ...words);
    assert.equal(status, 0, err);
    assert.equal(JSON.parse(err).rows[0].status, 'not-counted');
    writeSync(fd, 'x');
  });

  const notRoot = process.getuid?.() === 0 ? false : 'only root can make files of another user';
  test('a pipe of another user, where everybody can write, is not obeyed by any verb', {
    skip: notRoot,
  }, async (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o1777);
    const [foreign, own] = [pipe(folder, 'foreign').path, pipe(folder, 'own').path];
    chownSync(foreign, OTHER, OTHER);
    const link = join(folder, 'link');
    symlinkSync(own, link);
    lchownSync(link, OTHER, OTHER);
    for (const places of [foreign, `${own},${foreign}`, link])
      for (const words of [
        ['stat', '--control', `fifo:${places}`],
        ['record', '-o', join(folder, 'data'), '--control', `fifo:${places}`],
        ['flight', '--on', `control:${places}`],
      ]) {
        const { err, status } = await counterpoint(...words, '--', 'true');
        assert.match(
          err,
          /cannot be used: it is of another user, in a directory to which everybody can write/,
        );
        assert.notEqual(status, 0, words.join(' '));
      }
    // Of this user, and of others where only they can make names.
    const place = (path: string) => parseControlPlace(`fifo:${path}`);
    const ignore = () => {};
    new ControlChannel(place(own), COUNTING_COMMANDS, ignore, ignore)[Symbol.dispose]();
    chmodSync(folder, 0o755);
    new ControlChannel(place(foreign), COUNTING_COMMANDS, ignore, ignore)[Symbol.dispose]();
  });

  test('lines come in pieces and several at a time; what is none is told', async (t) => {
    const { path, fd } = pipe(temporaryFolder(t), 'commands');
    const seen: string[] = [];
    const note = (line: string) => void seen.push(line);
    using _ = new ControlChannel(
      parseControlPlace(`fifo:${path}`),
      COUNTING_COMMANDS,
      ({ name, argument }) => note(`${name} ${argument}`.trim()),
      (line) => note(`? ${line}`),
    );
    for (const piece of ['ena', 'ble\nping\n', '\nstart\n', 'evlist -v\ndisable cs\ndis']) {
      writeSync(fd, piece);
      await setTimeout(10);
    }
    assert.deepEqual(seen, ['enable', 'ping', '? start', 'evlist -v', 'disable cs']);
  });

  test('evlist names the events', async (t) => {
    const { path, fd } = pipe(temporaryFolder(t), 'commands');
    writeSync(fd, 'evlist\n');
    const words = ['--control', `fifo:${path}`, '-x,', '-e', 'faults,cs', 'sleep', '0.1'];
    const { err } = await counterpoint('stat', ...words);
    assert.match(err, /^faults\ncs\n/);
  });

  test('one event can be turned on alone; attrs and groups are listed; all of it is answered', async (t) => {
    const folder = temporaryFolder(t);
    const [commands, answers] = [pipe(folder, 'commands'), pipe(folder, 'answers')];
    const place = `fifo:${commands.path},${answers.path}`;
    const events = ['-e', 'cpu-clock:u,{faults:u,task-clock:u}'];
    const run = counterpoint('stat', '-D', '-1', '-x,', '--control', place, ...events, '--', ...BUSY);
    for (const line of ['enable cpu-clock:u', 'enable nosuch', 'evlist -v', 'evlist -g', 'evlist -F']) {
      writeSync(commands.fd, `${line}\n`);
      assert.equal(await answerOf(answers), 'ack\n', line);
    }
    const { err } = await run;
    assert.match(err, /no event nosuch is counted/);
    assert.match(err, /^cpu-clock:u: type: 1, size: \d+, .*sample_type: 0x10000/m);
    assert.match(err, /^\{faults:u,task-clock:u\}$/m);
    assert.match(err, /^faults:u: sample_period=0$/m);
    assert.match(err, /^\d[\d.]*,msec,cpu-clock:u,/m);
    assert.match(err, /^<not counted>,,faults:u,/m);
  });

  for (const [words, pattern] of [
    [['-D', '-1'], /nothing would turn it on[\s\S]*mkfifo/],
    [['--control', 'daily'], /--control expects fd:N\[,N\] or fifo:FILE/],
    [['--control', 'fd:x'], /--control expects fd:N/],
    [['--control', 'fd:9999'], /descriptor 9999 cannot be used: it does not exist/],
    [['--control', 'fifo:/no/such'], /\/no\/such cannot be used: it does not exist[\s\S]*mkfifo \/no\/such/],
    [['--control', 'fifo:/'], /\/ cannot be used: it is a directory/],
    [['-D', '-2'], /-D expects a value from 0/],
  ] as const) {
    test(`stat ${words.join(' ')}: 129, in words`, async () => {
      const { status, err } = await counterpoint('stat', ...words, 'true');
      assert.match(err, pattern);
      assert.equal(status, 129);
    });
  }

  test('a file is no pipe, and stays what it was', async (t) => {
    const path = join(temporaryFolder(t), 'file');
    writeFileSync(path, 'text');
    const { status, err } = await counterpoint('stat', '--control', `fifo:${path}`, 'true');
    assert.equal(status, 129);
    assert.match(err, /it is not a pipe/);
    assert.equal(readFileSync(path, 'utf8'), 'text');
  });
});
