/** A program that ends in its own way when it is interrupted does so below every verb that runs it. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openRecording } from '../../../host/open/index.ts';
import { examineMachine } from '../../../linux/kernel/probe/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { noPseudoTerminal, PseudoTerminal } from '../../../test/pseudo-terminal.ts';
import { until } from '../../../test/until-told.ts';
import { FollowedCommand } from './followed-command.ts';
import { GroupWitness } from './group-witness.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-ctrl-c-'));
after(() => rmSync(folder, { recursive: true }));
const { canRecord } = examineMachine(realSys, 1);
const DATA = join(folder, 'x.data');
const NOTES = join(folder, 'notes');

/**
 * It notes each signal. After the first SIGINT it works on until it is told that this is enough, says
 * `flushed` and ends with 3. `stubborn`: it does nothing of all that.
 */
const SERVER = join(folder, 'server.cjs');
writeFileSync(
  SERVER,
  `const { appendFileSync, existsSync } = require('node:fs');
const [, , notes, isStubborn] = process.argv;
const note = (text) => appendFileSync(notes, text + '\\n');
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    note(signal);
    if (isStubborn) return;
    const timer = setInterval(() => {
      if (!existsSync(notes + '.enough')) return;
      clearInterval(timer);
      note('flushed');
      process.exit(3);
    }, 20);
  });
note('ready ' + process.pid);
setInterval(() => {}, 1000);
`,
);
const server = (...more: string[]) => [process.execPath, SERVER, NOTES, ...more];
const ours = (verb: string) => [process.execPath, ...commandLineProcess(), ...verb.split(' '), '--'];
const VERBS = [
  `record -e cpu-clock -o ${DATA}`,
  'stat -e task-clock',
  'loop',
  'off-cpu',
  `flight -e cpu-clock -o ${folder}`,
];

const noted = () => (existsSync(NOTES) ? readFileSync(NOTES, 'utf8').split('\n').slice(0, -1) : []);
const serverPid = () => Number(noted()[0]?.split(' ')[1]);
const has = (text: string, count = 1) =>
  until(() => noted().filter((line) => line.startsWith(text)).length >= count);
function forget(): void {
  for (const path of [NOTES, `${NOTES}.enough`]) rmSync(path, { force: true });
}
function enough(): void {
  writeFileSync(`${NOTES}.enough`, '');
}
/** The signals that the server got until it has ended. */
const got = () => noted().slice(1);

/** A process of ours beside the verb, in its group, that tells of signals to the group. */
async function hasWitness(verb: number): Promise<boolean> {
  return await until(
    () => readFileSync(`/proc/${verb}/task/${verb}/children`, 'utf8').trim().split(' ').length > 1,
  );
}

describe('a command that ends in its own time', {
  skip: !canRecord && 'nothing can be recorded here',
}, () => {
  for (const verb of VERBS) {
    const name = verb.split(' ')[0]!;

    test(`${name}: Ctrl-C of a terminal reaches it once, and it ends as it likes`, {
      skip: noPseudoTerminal(),
    }, async () => {
      forget();
      await using terminal = new PseudoTerminal([...ours(verb), ...server()]);
      assert.ok(await has('ready'), terminal.text);
      assert.ok(await hasWitness(terminal.pid));
      terminal.type('\x03');
      assert.ok(await has('SIGINT'));
      // Far longer than the verb takes to look who has got the signal.
      await terminal.waitFor(/waiting for the command to end; press Ctrl-C again to send it SIGTERM/);
      enough();
      assert.equal((await terminal.finish()).status, 130);
      assert.deepEqual(got(), ['SIGINT', 'flushed']);
    });

    for (const [what, signal, send] of [
      ['kill -INT of the verb alone is sent on once', 'SIGINT', (pid: number) => process.kill(pid, 'SIGINT')],
      ['kill -TERM of the verb alone', 'SIGTERM', (pid: number) => process.kill(pid, 'SIGTERM')],
      ['a signal to the whole group comes once', 'SIGINT', (pid: number) => process.kill(-pid, 'SIGINT')],
    ] as const) {
      test(`${name}: ${what}`, async () => {
        forget();
        const [program, ...words] = [...ours(verb), ...server()];
        const child = spawn(program!, words, { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
        const closed = once(child, 'close');
        let err = '';
        child.stderr.on('data', (piece: Buffer) => {
          err += piece;
        });
        assert.ok((await has('ready')) && (await hasWitness(child.pid!)), err);
        send(child.pid!);
        assert.ok(await has(signal), err);
        assert.ok(await until(() => err.includes('waiting for the command to end')), err);
        enough();
        assert.deepEqual(await closed, [null, signal]);
        assert.deepEqual(got(), [signal, 'flushed']);
      });
    }
  }

  test('the recording has what the command did while it ended', async () => {
    forget();
    const work = 'const end = process.cpuUsage(); while (process.cpuUsage(end).user < 3e5);';
    const text = `process.on("SIGINT", () => { (function flushing() { ${work} })(); process.exit(3); }); require("fs").writeFileSync(process.argv[1], "ready\\n"); setInterval(() => {}, 1000);`;
    const words = [
      ...ours(`record -q -e cpu-clock:u -F 1000 -g -o ${DATA}`),
      process.execPath,
      '-e',
      text,
      NOTES,
    ];
    const child = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
    const closed = once(child, 'close');
    assert.ok(await has('ready'));
    child.kill('SIGINT');
    assert.deepEqual(await closed, [null, 'SIGINT']);
    await using recording = await openRecording(DATA);
    const { profile } = await recording.profile();
    const { samples } = profile;
    const stacks = Array.from({ length: samples.length }, (_, row) =>
      javascriptStack(profile, samples.stack.at(row)),
    );
    assert.ok(stacks.some((stack) => stack.includes('flushing')));
  });

  test('a second Ctrl-C sends SIGTERM, a third ends the recording with what there is', {
    skip: noPseudoTerminal(),
  }, async () => {
    for (const verb of VERBS) {
      forget();
      await using terminal = new PseudoTerminal([...ours(verb), ...server('stubborn')]);
      assert.ok(await has('ready'), terminal.text);
      try {
        for (const [n, wait] of [
          /again to send it SIGTERM/,
          /SIGTERM; press Ctrl-C again to end without it/,
        ].entries()) {
          terminal.type('\x03');
          assert.ok(await has('SIGINT', n + 1));
          await terminal.waitFor(wait);
        }
        assert.ok(await has('SIGTERM'));
        terminal.type('\x03');
        assert.equal((await terminal.finish()).status, 130, terminal.text);
        assert.deepEqual(got().toSorted(), ['SIGINT', 'SIGINT', 'SIGINT', 'SIGTERM'], verb);
      } finally {
        process.kill(serverPid(), 'SIGKILL');
      }
    }
    await using recording = await openRecording(DATA);
    assert.ok(recording);
  });

  test('a command in a group of its own is sent what the terminal did not', {
    skip: noPseudoTerminal(),
  }, async () => {
    forget();
    await using terminal = new PseudoTerminal([...ours(VERBS[0]!), 'setsid', ...server()]);
    assert.ok(await has('ready'), terminal.text);
    assert.ok(await hasWitness(terminal.pid));
    terminal.type('\x03');
    assert.ok(await has('SIGINT'));
    enough();
    assert.equal((await terminal.finish()).status, 130);
    assert.deepEqual(got(), ['SIGINT', 'flushed']);
  });

  test('a command that ignores the signal gets SIGTERM, where nobody else gets it', async () => {
    const child = spawn('sh', ['-c', 'trap "" INT; echo ready; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    using command = new FollowedCommand(child.pid!);
    assert.ok(command.isAlive);
    const ended = once(child, 'exit');
    await command.passOn('SIGINT');
    assert.deepEqual(await ended, [null, 'SIGTERM']);
    assert.ok(!command.isAlive);
    assert.ok(!new FollowedCommand(process.ppid).isAlive, 'no child of ours');
  });
});

test('a witness tells of each signal that it got since it was asked', async () => {
  using witness = new GroupWitness();
  // A signal that is heard of now may have come before the witness was born.
  assert.equal(await witness.saw('SIGINT'), null);
  assert.ok(await until(async () => (await witness.saw('SIGINT')) === false));
  const pid = witness.pid!;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
    process.kill(pid, signal);
    assert.equal(await witness.saw(signal), true, signal);
    assert.equal(await witness.saw(signal), false, signal);
  }
  process.kill(pid, 'SIGKILL');
  assert.equal(await witness.saw('SIGINT'), null);
  using young = new GroupWitness();
  process.kill(young.pid!, 'SIGINT');
  assert.equal(await young.saw('SIGINT'), true, 'it was not ready for it');
});

test('a signal that came before the witness was born is none that it did not get', async (t) => {
  let answer: Promise<boolean | null> | null = null;
  const onSignal = () => {
    answer = witness.saw('SIGINT');
  };
  process.once('SIGINT', onSignal);
  t.after(() => process.off('SIGINT', onSignal));
  process.kill(process.pid, 'SIGINT');
  using witness = new GroupWitness();
  // Node is busy until the witness is ready: it hears of both in one turn of its loop.
  spawnSync('sleep', ['0.5']);
  assert.ok(await until(() => answer !== null));
  assert.equal(await answer, null);
  assert.ok(await until(async () => (await witness.saw('SIGINT')) === false));
});
