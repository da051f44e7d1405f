import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { EventSyntaxError } from '@counterpoint/core/events';
import { defineVerb, type Verb } from './common/args.ts';
import { verbHelp } from './common/help.ts';
import { Output, OutputClosed } from './common/output.ts';
import { printError } from './common/output-error.ts';
import { ProgressLine } from './common/progress.ts';
import { helpTexts, runCommandLine, VERBS } from './main.ts';
import { TOPICS } from './topics.ts';

function capture({ isTerminal = false, env = {}, columns = 0 } = {}) {
  const sink = {
    text: '',
    isTerminal,
    columns: () => columns,
    write(text: string) {
      this.text += text;
    },
  };
  return { sink, output: new Output(sink, env) };
}

async function run(...words: string[]) {
  const out = capture();
  const err = capture();
  const status = await runCommandLine(words, out.output, err.output);
  return { status, out: out.sink.text, err: err.sink.text };
}

test('help and version go to standard output with status 0', async () => {
  for (const form of ['--help', '-h', 'help']) {
    const { status, out, err } = await run(form);
    assert.deepEqual([status, err], [0, '']);
    const words = out.replace(/\s+/g, ' ');
    for (const { name, summary } of VERBS) assert.ok(words.includes(`${name} ${summary}`), name);
  }
  assert.match((await run('--version')).out, /^counterpoint \d+\.\d+\.\d+\n$/);
});

test('help has help', async () => {
  for (const word of ['--help', '-h', 'help']) {
    const { status, out, err } = await run('help', word);
    assert.deepEqual([status, err], [0, ''], word);
    assert.match(out, /^counterpoint help: .*\n\nUsage: counterpoint help \[VERB\|TOPIC\]\n/);
    for (const { name } of [...VERBS, ...TOPICS]) assert.ok(out.includes(name), name);
    for (const line of out.split('\n')) assert.ok(line.length <= 100, line);
  }
});

test('every verb has help with examples, the same by each way, and the summary of the table', async () => {
  for (const { name, summary, load } of VERBS) {
    const verb: Verb = (await load()).default;
    assert.deepEqual([verb.name, verb.summary], [name, summary]);
    const { status, out, err } = await run(...name.split(' '), '--help');
    assert.deepEqual([status, err], [0, '']);
    assert.match(out, new RegExp(`^counterpoint ${name}: `));
    assert.equal((await run('help', ...name.split(' '))).out, out);
    assert.equal((await run(...name.split(' '), '-h')).out, out);
  }
});

test('every topic has a page, in help and by its name', async () => {
  const { out } = await run('help');
  for (const { name, summary, load } of TOPICS) {
    const rows = out.split('\n').map((line) => line.trim().split(/ {2,}/).join(': '));
    assert.ok(rows.includes(`${name}: ${summary}`), name);
    const page = await run('help', name);
    assert.deepEqual([page.status, page.err, page.out], [0, '', await load()]);
    assert.equal((await run(name, '--help')).out, page.out);
    assert.equal((await run(name)).status, 129);
  }
});

test('no help is wider than a terminal of 80 columns', async () => {
  for (const [name, text] of await helpTexts())
    for (const line of text.split('\n'))
      assert.ok(line.length <= 80 || /^ {2,6}counterpoint /.test(line), `${name}: ${line}`);
});

/** Names in the first column of a page's list. */
const leftOf = (page: string, heading: string) =>
  new RegExp(`^${heading}:\\n((?: .*\\n)+)`, 'm')
    .exec(page)![1]!
    .split('\n')
    .flatMap((line) => /^ {2}(\S.*?)(?: {2,}|$)/.exec(line)?.[1] ?? []);

test('what the topics name is understood', async () => {
  const page = async (name: string) => await TOPICS.find((topic) => topic.name === name)!.load();
  const letters = ['Samples', 'With each sample', 'How'].map(async (heading) =>
    leftOf(await page('itrace'), heading),
  );
  const { parseItrace } = await import('@counterpoint/trace/perf');
  for (const form of (await Promise.all(letters)).flat())
    for (const one of form.split(', ')) assert.notDeepEqual(parseItrace(one), parseItrace(''), one);
  const { parseTimes } = await import('./common/time-option.ts');
  for (const form of leftOf(await page('time'), 'Forms'))
    assert.equal(
      parseTimes(form.replace('FROM', '1').replace('TO', '2'), { first: 0n, last: 9n }).length,
      form.split('%,').length,
    );
  const { builtInFormats } = await import('../linux/sample/formats/index.ts');
  assert.deepEqual(leftOf(await page('formats'), 'Built in'), [...builtInFormats]);
});

test('usage errors: status 129, nothing on standard output', async () => {
  const verb = await run('recrod');
  assert.deepEqual([verb.status, verb.out], [129, '']);
  assert.match(verb.err, /there is no verb 'recrod'; did you mean record\?/);
  const option = await run('report', '--definitely-not-an-option');
  assert.deepEqual([option.status, option.out], [129, '']);
  assert.match(
    option.err,
    /^counterpoint report: unknown option --definitely-not-an-option\nUsage: counterpoint report /,
  );
  assert.equal((await run()).status, 129);
  assert.equal((await run('--nothing', 'record')).status, 129);
});

test('help is made from the rows', () => {
  const verb = defineVerb({
    name: 'sample',
    summary: 'does something',
    usage: ['[options] -- command', '[options] -p PID'],
    options: [
      {
        long: 'freq',
        short: 'F',
        value: 'HZ',
        help: 'what takes more than the fifty-two columns that there are beside the names of an option',
      },
      { long: 'inherit', short: 'i', negatable: true, help: 'children too' },
      { long: 'g', help: 'call chains', group: 'Stacks' },
      { long: 'compression-level', short: 'z', value: 'N', optionalValue: '1', help: 'compress' },
    ],
    examples: [['sample -F 99 -- ls', 'samples ls']],
    run: () => 0,
  });
  assert.equal(
    verbHelp(verb),
    `counterpoint sample: does something

Usage: counterpoint sample [options] -- command
   or: counterpoint sample [options] -p PID

Options:
  -F, --freq=HZ             what takes more than the fifty-two columns that
                            there are beside the names of an option
  -i, --[no-]inherit        children too
  -z, --compression-level[=N]
                            compress

Stacks:
  -g                        call chains

General:
  -v, --verbose             say more; print the stack of an unexpected error
  -h, --help                print this help

Examples:
  counterpoint sample -F 99 -- ls
      samples ls
`,
  );
});

test('errors say what happened and what to do; a stack only when asked for', () => {
  const print = (error: unknown, verbose = false) => {
    const { sink, output } = capture();
    printError(error, output, { verbose });
    return sink.text;
  };
  assert.equal(
    print(new CounterpointError('ERR_X', 'no rights', 'Run it as root.\nOr ask.')),
    'counterpoint: no rights\n  Run it as root.\n  Or ask.\n',
  );
  const pointing = new EventSyntaxError('cycels', 0, 'unknown event', 'Try another.');
  assert.equal(print(pointing), `${pointing.message}\n  Try another.\n`);
  const missing = Object.assign(new Error("ENOENT: no such file or directory, open 'perf.data'"), {
    code: 'ENOENT',
    syscall: 'open',
    path: 'perf.data',
  });
  assert.equal(print(missing), 'counterpoint: cannot open perf.data: no such file or directory\n');
  assert.match(
    print(new TypeError('x is not a function')),
    /^counterpoint: x is not a function\n {2}This error is unexpected/,
  );
  assert.match(print(new TypeError('x is not a function'), true), /TypeError: x is not a function\n\s+at /);
});

test('what is wrong with a command line has no stack, however much is said', async () => {
  for (const words of [['-v'], ['report', '-v', '--nonsense']]) {
    const { status, err } = await run(...words);
    assert.equal(status, 129);
    assert.doesNotMatch(err, /^\s+at /m);
  }
});

test('colours: on a terminal, unless NO_COLOR; FORCE_COLOR decides over both', () => {
  const colored = (isTerminal: boolean, env: Record<string, string>) =>
    capture({ isTerminal, env }).output.style.red('x') !== 'x';
  assert.equal(colored(true, {}), true);
  assert.equal(colored(false, {}), false);
  assert.equal(colored(true, { NO_COLOR: '1' }), false);
  assert.equal(colored(true, { NO_COLOR: '' }), true);
  assert.equal(colored(true, { TERM: 'dumb' }), false);
  assert.equal(colored(false, { FORCE_COLOR: '1' }), true);
  assert.equal(colored(true, { FORCE_COLOR: '0' }), false);
});

/**
 * Each obeyed by some terminal: C0, DEL, C1, an own-looking colour, marks of direction, separators of lines.
 */
const OBEYED = '\x1b]0;owned\x07 \x1b[31m \r \x7f \u009b2J \u202e \u2066 \u200f \u061c \u2028 \b \0';
const SHOWN =
  '\\x1b]0;owned\\x07 \\x1b[31m \\x0d \\x7f \\x9b2J \\u202e \\u2066 \\u200f \\u061c \\u2028 \\x08 \\x00';

test('whatever is printed, a terminal obeys nothing of it but our own colours; pipes and files get the same', () => {
  for (const isTerminal of [true, false]) {
    const { sink, output } = capture({ isTerminal, env: { FORCE_COLOR: '1' } });
    const got = () => {
      output.flush();
      const { text } = sink;
      sink.text = '';
      return text;
    };
    output.line(OBEYED);
    assert.equal(got(), `${SHOWN}\n`);
    output.line(`${output.style.yellow(OBEYED)}\t${OBEYED}`);
    assert.equal(got(), `\x1b[33m${SHOWN}\x1b[39m\t${SHOWN}\n`);
    output.table([{ title: OBEYED }], [[OBEYED]]);
    assert.equal(got(), `\x1b[1m${SHOWN}\x1b[22m\n${SHOWN}\n`);
    output.json({ [OBEYED]: OBEYED });
    assert.equal(Object.entries(JSON.parse(got()))[0]!.join(), `${OBEYED},${OBEYED}`);
    output.writeTransient(OBEYED);
    assert.equal(got(), `\r\x1b[K${SHOWN}`);
    output.screen([OBEYED, `${OBEYED}\n`]);
    assert.equal(got(), `\x1b[H${SHOWN}\x1b[K\r\n${SHOWN} \x1b[K`);
    printError(new CounterpointError('ERR_X', OBEYED, OBEYED), output);
    assert.equal(got(), `\x1b[1mcounterpoint:\x1b[22m \x1b[31m${SHOWN}\x1b[39m\n  ${SHOWN}\n`);
    printError(new Error(OBEYED), output, { verbose: true });
    assert.ok(
      !got()
        .replace(/\x1b\[\d+m/g, '')
        .includes('\x1b'),
    );
  }
});

test('text in UTF-8, cut anywhere, and other characters that begin like those', () => {
  const text = `µ … → ${OBEYED} é \u00a0 ‐ 日本 🙂\n`;
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size++) {
    const pieces: Uint8Array[] = [];
    const output = new Output(
      { isTerminal: false, columns: () => 0, write: (piece) => void pieces.push(Buffer.from(piece)) },
      {},
    );
    for (let at = 0; at < bytes.length; at += size) output.utf8(bytes.subarray(at, at + size));
    output.flush();
    assert.equal(Buffer.concat(pieces).toString(), text.replace(OBEYED, SHOWN), `in pieces of ${size}`);
  }
});

test('every byte that a terminal obeys is found, wherever it stands in a piece', () => {
  for (let code = 0; code < 0x80; code++) {
    const isObeyed = (code < 0x20 && code !== 9 && code !== 10) || code === 0x7f;
    for (let offset = 0; offset < 8; offset++) {
      const text = `${'~'.repeat(offset)}${String.fromCharCode(code)}${' '.repeat(8 - offset)}`;
      let got = '';
      const output = new Output(
        {
          isTerminal: false,
          columns: () => 0,
          write: (piece) => void (got += Buffer.from(piece).toString()),
        },
        {},
      );
      output.utf8(new TextEncoder().encode(`..${text}`).subarray(offset & 3));
      assert.equal(got.includes('\\x'), isObeyed && offset + 2 >= (offset & 3), `${code} at ${offset}`);
    }
  }
});

test('binary formats are refused on a terminal', () => {
  assert.throws(() => capture({ isTerminal: true }).output.binary(Uint8Array.of(27)), {
    code: 'ERR_BINARY_OUTPUT',
  });
});

test('tables are as wide as their content and end without blanks', () => {
  const { sink, output } = capture();
  output.table(
    [{ title: 'overhead', align: 'right' }, { title: 'command' }, { title: 'symbol' }],
    [
      ['7.50%', 'node', 'naïve_function_with_a_long_name'],
      ['12.00%', 'a', ''],
    ],
  );
  output.flush();
  assert.equal(
    sink.text,
    `overhead  command  symbol
   7.50%  node     naïve_function_with_a_long_name
  12.00%  a
`,
  );
});

test('a progress line is throttled, cut to the terminal, and away before other text', () => {
  const { sink, output } = capture({ isTerminal: true, columns: 8 });
  let now = 0;
  const progress = new ProgressLine(output, () => now);
  progress.update('recording much');
  now = 50;
  progress.update('not shown');
  output.line('note');
  now = 120;
  progress.listener()({ phase: 'read', done: 1, total: 3 });
  progress.close();
  output.line('end');
  const clear = '\r\x1b[K';
  assert.equal(sink.text, `${clear}recordi${clear}note\n${clear}read: 3${clear}end\n`);
  now = 500;
  progress.update('too late');
  assert.ok(!sink.text.includes('too'));
  const dumb = capture({ isTerminal: true, env: { TERM: 'dumb' } });
  new ProgressLine(dumb.output).update('x');
  assert.equal(dumb.sink.text, '');
  const pipe = capture();
  new ProgressLine(pipe.output).update('x');
  assert.equal(pipe.sink.text, '');
});

test('a reader that goes away ends the program quietly, and the whole output arrives at one that stays', async () => {
  const script = `
    import { descriptorSink, Output, OutputClosed } from './packages/node/src/cli/common/output.ts';
    const out = new Output(descriptorSink(1));
    try {
      for (let i = 0; i < 40000; i++) out.line('0123456789'.repeat(4));
      out.flush();
      process.exit(0);
    } catch (error) {
      process.exit(error instanceof OutputClosed ? 7 : 8);
    }`;
  const start = () =>
    spawn(
      process.execPath,
      ['--import', 'tsx', '--conditions=counterpoint-source', '--input-type=module', '-e', script],
      { stdio: ['ignore', 'pipe', 'inherit'], cwd: new URL('../../../../', import.meta.url) },
    );
  const [whole, cut] = [start(), start()];
  let size = 0;
  whole.stdout.on('data', (piece) => (size += piece.length));
  cut.stdout.once('data', () => cut.stdout.destroy());
  const status = (child: ReturnType<typeof start>) =>
    new Promise((resolve) => child.on('close', (code) => resolve(code)));
  assert.deepEqual(await Promise.all([status(whole), status(cut)]), [0, 7]);
  assert.equal(size, 40000 * 41);
});

test('OutputClosed is status 0', async () => {
  const err = capture();
  const broken = new Output(
    {
      isTerminal: false,
      columns: () => 0,
      write() {
        throw new OutputClosed();
      },
    },
    {},
  );
  assert.equal(await runCommandLine(['--help'], broken, err.output), 0);
  assert.equal(err.sink.text, '');
});

test('a verb that fails has its status, also where nobody reads why', async () => {
  const closed = () => {
    throw new OutputClosed();
  };
  const output = new Output({ isTerminal: false, columns: () => 0, write: closed }, {});
  const status = (...words: string[]) => runCommandLine(words, output, output);
  assert.equal(await status('export', '-f', 'bogus'), 129);
  assert.equal(await status('report', '-i', '/nonexistent/perf.data'), 1);
  // What has something to say, and nobody who listens, has ended well.
  assert.equal(await status('--help'), 0);
});

/** They take any number: recordings, patterns, names of features. */
const TAKE_WORDS: ReadonlySet<string> = new Set(['diff', 'list', 'check feature']);

test('a word that a verb makes nothing of is an error of the command line, in every verb', async () => {
  for (const { name, load } of VERBS.filter((verb) => !TAKE_WORDS.has(verb.name))) {
    const { options, command } = (await load()).default;
    const input = options.some(({ long }) => long === 'input') ? ['--input', '/nonexistent/perf.data'] : [];
    if (command === true && input.length === 0) continue;
    const { status, err } = await run(...name.split(' '), ...input, 'flamegraph', 'two', 'three');
    assert.equal(status, 129, `${name}\n${err}`);
    assert.match(err, /^counterpoint [^:]+: .+\n/);
  }
});

test('the recording is named once: by -i, or by a word', async () => {
  for (const verb of ['report', 'script', 'export', 'evlist', 'buildid-list', 'stat report', 'archive']) {
    const { status, err } = await run(...verb.split(' '), '-i', '/nonexistent/perf.data', 'flamegraph');
    assert.equal(status, 129, verb);
    assert.match(err, /a word too many: flamegraph\n {2}The recording is|one recording at a time/, verb);
  }
  for (const words of [
    ['version', 'x'],
    ['doctor', 'x'],
    ['buildid-list', '-k', 'x'],
  ])
    assert.equal((await run(...words)).status, 129, words.join(' '));
});
