import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Output } from '../../common/output.ts';
import { runCommandLine } from '../../main.ts';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../../../fixtures/perfdata/${name}.data`, import.meta.url));
const CHAINS = fixture('call-chains');
const PLAIN = fixture('plain');
const KILLED = fixture('killed');

function capture(isTerminal: boolean) {
  const sink = {
    text: '',
    isTerminal,
    columns: () => 100,
    write(text: string | Uint8Array) {
      this.text += typeof text === 'string' ? text : new TextDecoder().decode(text);
    },
  };
  return { sink, output: new Output(sink, { NO_COLOR: '1' }) };
}

async function run(words: readonly string[], isTerminal = false) {
  const out = capture(false);
  const err = capture(isTerminal);
  const status = await runCommandLine(words, out.output, err.output);
  return { status, out: out.sink.text, err: err.sink.text };
}

const report = (...words: string[]) => run(['report', '-i', CHAINS, ...words]);

test('on a terminal nothing of the progress is left when the answer comes', async () => {
  for (const words of [['report'], ['report', '--stats'], ['export', '-f', 'folded', '-o', '-']]) {
    const { status, err } = await run([...words, '-i', CHAINS], true);
    assert.equal(status, 0);
    const last = err.lastIndexOf('\r\x1b[K');
    assert.ok(last >= 0, `no progress: ${words.join(' ')}`);
    assert.doesNotMatch(err.slice(last + 4), /\d%/, words.join(' '));
  }
});

test('options that an answer would not heed are refused by the name they were typed with', async () => {
  for (const [words, message] of [
    [['--stats', '--pid', '3'], /--pid does not go with --stats/],
    [['--header-only', '-C', '0'], /-C does not go with --header-only/],
    [['--tree', '-s', 'dso'], /-s does not go with --tree/],
    [['--time', '5,3'], /--time expects FROM before TO, not '5,3'/],
    [['--time', '50%-10%'], /--time expects a part from lower to higher/],
    [['--time', '50%-200%'], /up to 100%/],
    [['-g', 'caller'], /perf's 'caller' is the tree from the roots down: -g callees here/],
    [['-g', 'graph'], /-g expects one of callees, callers, none/],
  ] as const) {
    const { status, out, err } = await report(...words);
    assert.deepEqual([status, out], [129, ''], words.join(' '));
    assert.match(err, message);
  }
  const { status, err } = await report('--sort', ',');
  assert.equal(status, 1);
  assert.match(err, /no sort key is named/);
  assert.equal((await report('-g', 'none')).out, (await report()).out);
});

test('--header stands before the rows, as in perf; --header-only is without them', async () => {
  const [rows, alone, both] = [await report(), await report('--header-only'), await report('--header')];
  assert.match(alone.out, /^# ========\n# captured on {4}: .*\n# header version : 1\n# data offset/);
  assert.equal(both.out, alone.out + rows.out);
  const { header, events } = JSON.parse((await report('--header', '--json')).out);
  assert.deepEqual([header.mode, events.length], ['file', 1]);
  const { type, version, ...same } = JSON.parse((await report('--header-only', '--json')).out);
  assert.deepEqual([type, version, same], ['header', 1, header]);
});

test('script --limit prints the first samples, and says that it read no further', async () => {
  const script = (...words: string[]) => run(['script', '-i', PLAIN, ...words]);
  const whole = await script();
  const samples = whole.out.split('\n\n').filter((text) => text !== '');
  assert.ok(samples.length > 3, `${samples.length} samples`);
  const first = await script('--limit', '3');
  assert.deepEqual([first.status, first.out], [0, `${samples.slice(0, 3).join('\n\n')}\n\n`]);
  assert.match(first.err, /^Note: --limit: the recording was not read beyond 3 samples/m);
  const all = await script('--limit', String(samples.length));
  assert.deepEqual([all.out, all.err], [whole.out, whole.err]);
  const lines = (await script('--json', '--limit', '2')).out.trim().split('\n');
  const end = JSON.parse(lines.at(-1)!);
  assert.deepEqual([lines.length, end.type, end.samples, end.isLimited], [3, 'end', 2, true]);
  assert.equal((await script('--limit', '0')).status, 129);
});

test('JSON: what the kernel counts in 64 bits is text, what is counted here is a number', async () => {
  const answers = await Promise.all(
    [['report'], ['report', '--stats'], ['script', '--json']].map(async (words) => {
      const { out } = await run([...words, ...(words[0] === 'script' ? [] : ['--json']), '-i', KILLED]);
      return JSON.parse(words[0] === 'script' ? out.trim().split('\n').at(-1)! : out);
    }),
  );
  for (const { type, samples, loss, events = [] } of answers) {
    assert.ok(loss.length > 0, type);
    for (const { count } of loss)
      assert.match(String(typeof count === 'string' ? count : null), /^\d+$/, type);
    if (type !== 'report') assert.equal(typeof samples, 'number', type);
    for (const event of events) {
      const kinds = [event.samples, event.sumPeriod, event.lost].map((value) => typeof value);
      assert.deepEqual(kinds, ['number', 'string', 'string'], type);
    }
  }
});

test('a filter that nothing passes stands in the answer', async () => {
  assert.match((await report('--comms', 'nope')).out, /^# Nothing passes --comms nope$/m);
  assert.match((await report('--dsos', 'nope', '--json')).err, /Nothing passes --dsos nope/);
  assert.match(
    (await report('--tree', '-S', 'nope')).out,
    /^# Nothing passes -S nope\. A function that was inlined counts as its caller; --inline shows it apart\.$/m,
  );
  assert.match((await run(['script', '-i', CHAINS, '--tid', '999'])).err, /Nothing passes --tid 999/);
  const dir = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  try {
    const { err } = await run(['export', '-i', CHAINS, '--comms', 'nope', '-o', join(dir, 'x.svg')]);
    assert.match(err, /it is empty: nothing passes --comms nope/);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
