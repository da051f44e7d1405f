import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { noPseudoTerminal, PseudoTerminal } from '../../../test/pseudo-terminal.ts';
import { sourceModule, sourceOptions } from '../../../test/sources.ts';

const noRights = process.getuid?.() === 0 ? false : 'needs root';

const SPIN =
  'function spinAlone(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; } for (;;) spinAlone(1e6);';
const SPINNING = ['-e', 'task-clock', '--', process.execPath, '-e', SPIN];

test('what cannot be meant is refused', async () => {
  const cases: [string[], RegExp][] = [
    [['-F', '99', '-c', '5'], /exclude each other/],
    [['-K', '-U'], /-K and -U exclude each other/],
    [['--once', '-r', '3'], /--once and --refreshes exclude each other/],
    [['-d', '0'], /--delay expects a time of at least 50ms|-d expects a time of at least 50ms/],
    [['-d', '99999999'], /-d expects a time of at least 50ms and at most 2147483647ms, .* not '99999999'/],
    [['-s', 'bogus'], /-s expects some of comm, dso, symbol, pid, tier, copy, not 'bogus'/],
    [['-d', 'soon'], /-d expects a time/],
    [['-s', 'cpu'], /-s expects some of comm, dso, symbol, pid, tier, copy, not 'cpu'/],
    [['-n', '0'], /-n expects a value at least 1/],
  ];
  for (const [words, message] of cases) {
    const { status, err } = await counterpoint('top', ...words);
    assert.equal(status, 129, words.join(' '));
    assert.match(err, message);
  }
  assert.match((await counterpoint('top', '--', 'no-such-command')).err, /no-such-command/);
});

/**
 * By the clock, not by a number of rounds, which take what the machine takes; without
 * another command, which had a name.
 */
const BUSY_FOR_HALF_A_SECOND = `
now() { read -r up idle </proc/uptime; now=\${up%.*}\${up#*.}; }
now; end=$((now+50))
while [ $now -lt $end ]; do
  i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done
  now
done
exit 7`;

describe('tables one below the other', { skip: noRights }, () => {
  test('as text: a busy function is on top', async () => {
    const { status, out, err } = await counterpoint(
      'top',
      '-z',
      '-d',
      '1',
      '-r',
      '4',
      '-n',
      '3',
      ...SPINNING,
    );
    assert.equal(status, 0, err);
    assert.doesNotMatch(out, /\x1b/);
    const heads = out.match(/^# counterpoint top: task-clock, 4000 Hz, \S+ \(process \d+\), every 1.00 s$/gm);
    assert.equal(heads?.length, 4, out);
    assert.match(out, /^Overhead +Shared Object +Symbol$/m);
    // Three rows a table, or fewer where nothing else was met.
    const rows = out.match(/^ +\d+\.\d\d% /gm)?.length ?? 0;
    assert.ok(rows >= 4 && rows <= 12, out);
    // The first table has the start of Node in it, and code that is made later gets its name in the next one.
    const last = out.slice(out.lastIndexOf('# counterpoint'));
    const [, percent] = /^ *(\d+\.\d\d)% .*spinAlone/m.exec(last) ?? [];
    assert.ok(Number(percent) > 50, last);
  });

  test('as JSON: one object a line, and the end says why', async () => {
    const words = ['top', '--json', '-e', 'task-clock,faults', '-d', '0.1', '-n', '2', '-s', 'comm', '--'];
    await onTime(async () => {
      const { status, out } = await counterpoint(...words, 'sh', '-c', BUSY_FOR_HALF_A_SECOND);
      assert.equal(status, 7);
      const looks = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.ok(
        looks.every(({ type, version }) => type === 'top' && version === 1),
        out,
      );
      assert.deepEqual(
        looks.map(({ number }) => number),
        looks.map((_, index) => index + 1),
      );
      const { events, end } = looks.at(-1);
      assert.deepEqual(
        events.map(({ event }: { event: string }) => event),
        ['task-clock', 'faults'],
      );
      assert.equal(events[0].rows[0].comm, 'sh');
      assert.deepEqual(end, { reason: 'command-exited', exit: { code: 7, signal: null } });
      // One look can take as long as the command runs.
      assertOnTime(looks.length >= 2, out);
    });
  });

  test('filters by name', async () => {
    const { out } = await counterpoint(
      'top',
      '--once',
      '-d',
      '0.5',
      '--symbols',
      'no_such_function',
      ...SPINNING,
    );
    assert.doesNotMatch(out, /%\s+\S+\s+\[/);
    assert.match(out, /Overhead/);
  });
});

const ENTERED = '\x1b[?1049h';
const LEFT = '\x1b[?1049l';

describe('on a terminal', { skip: noRights || noPseudoTerminal() }, () => {
  /** A screen with a table on it. */
  const open = async (...words: string[]) => {
    const terminal = new PseudoTerminal([
      process.execPath,
      ...commandLineProcess(),
      'top',
      '-d',
      '0.3',
      ...words,
    ]);
    await terminal.waitFor(/Overhead/);
    return terminal;
  };

  const assertGivenBack = async (terminal: PseudoTerminal, status: number) => {
    const end = await terminal.finish();
    assert.deepEqual(end, { status, isRestored: true }, JSON.stringify(terminal.text.slice(-400)));
    const { text } = terminal;
    assert.ok(text.includes(ENTERED) && text.lastIndexOf(LEFT) > text.lastIndexOf(ENTERED));
    // Cursor and wrapping, too; and then nothing more is drawn.
    const rest = text.slice(text.lastIndexOf(LEFT) + LEFT.length);
    assert.match(text, /\x1b\[\?7h\x1b\[\?25h/);
    assert.doesNotMatch(rest, /\x1b/);
    return rest;
  };

  test('q: the screen and the keyboard are as before', async () => {
    await using terminal = await open('-F', '500');
    terminal.type('q');
    await assertGivenBack(terminal, 0);
  });

  test('Ctrl-C and SIGTERM: as q, in perf, too; after SIGHUP the status says so', async () => {
    await using interrupted = await open('-F', '500');
    interrupted.type('\x03');
    await assertGivenBack(interrupted, 0);
    for (const [signal, status] of [
      ['SIGTERM', 0],
      ['SIGHUP', 129],
    ] as const) {
      await using terminal = await open('-F', '500');
      process.kill(terminal.pid, signal);
      await assertGivenBack(terminal, status);
    }
  });

  test('a terminal that is gone is the end, too', async () => {
    const terminal = await open('-F', '500');
    const { pid } = terminal;
    await terminal[Symbol.asyncDispose]();
    for (let tries = 0; tries < 200 && existsSync(`/proc/${pid}`); tries++) await setTimeout(50);
    assert.ok(!existsSync(`/proc/${pid}`));
  });

  test('Ctrl-Z gives the terminal back, and later it is there again', async () => {
    await using terminal = await open('-F', '500');
    const { length } = terminal.text;
    terminal.type('\x1a');
    await terminal.waitFor(/\x1b\[\?1049l[\s\S]*\x1b\[\?1049h[\s\S]*Overhead/, length);
    terminal.type('q');
    await assertGivenBack(terminal, 0);
  });

  test('keys change what is there: help, another order, a filter; a command that ends stays to be read', async () => {
    await using terminal = await open(
      '-e',
      'task-clock',
      '--',
      'sh',
      '-c',
      'sleep 2; echo never seen; exit 3',
    );
    let { length } = terminal.text;
    const press = async (keys: string, pattern: RegExp) => {
      length = terminal.text.length;
      terminal.type(keys);
      await terminal.waitFor(pattern, length);
    };
    await press('h', /Ctrl-C, Ctrl-D +end/);
    await press('x', /by dso, symbol/);
    await press('s', /by comm, dso, symbol/);
    await press('/nothing\r', /with "nothing", no rows/);
    await press('\x1b', /rows 1-/);
    await terminal.waitFor(/the command has ended \(status 3\); q ends this view/);
    terminal.type('q');
    await assertGivenBack(terminal, 3);
    assert.ok(!terminal.text.includes('never seen'));
  });
});

describe('Terminal', { skip: noPseudoTerminal() }, () => {
  const run = (body: string) => {
    const script = `const { Terminal } = await import('${sourceModule('cli/measuring/top/terminal.ts')}');
      const { descriptorSink, Output } = await import('${sourceModule('cli/common/output.ts')}');
      const terminal = new Terminal(new Output(descriptorSink(1)), () => {}, () => {});
      terminal.enter();
      ${body}`;
    return new PseudoTerminal([process.execPath, ...sourceOptions(), '--input-type=module', '-e', script]);
  };

  test('an error that nobody caught is printed after the screen is given back; so is an exit', async () => {
    for (const [body, status, seen] of [
      ["setTimeout(() => { throw new Error('out of order'); }, 10);", 1, /Error: out of order/],
      ["setTimeout(() => Promise.reject(new Error('not kept')), 10);", 1, /Error: not kept/],
      ['process.exit(5);', 5, /status 5/],
    ] as const) {
      await using terminal = run(body);
      assert.deepEqual(await terminal.finish(), { status, isRestored: true });
      const { text } = terminal;
      assert.ok(text.includes(ENTERED), text);
      assert.match(text.slice(text.indexOf(LEFT)), seen);
    }
  });
});
