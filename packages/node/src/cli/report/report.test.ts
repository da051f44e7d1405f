import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Output } from '../common/output.ts';
import { runCommandLine } from '../main.ts';

const CHAINS = fileURLToPath(new URL('../../../../../fixtures/perfdata/call-chains.data', import.meta.url));

function capture(isTerminal: boolean) {
  const sink = {
    text: '',
    isTerminal,
    columns: () => 100,
    write(text: string) {
      this.text += text;
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
    [['--tree', '--limit', '5'], /--limit does not go with --tree\n.*--percent-limit 5/],
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
  assert.match(alone.out, /^# ========\n# mode : file\n/);
  assert.equal(both.out, alone.out + rows.out);
  const { header, events } = JSON.parse((await report('--header', '--json')).out);
  assert.deepEqual([header.mode, events.length], ['file', 1]);
  const { type, version, ...same } = JSON.parse((await report('--header-only', '--json')).out);
  assert.deepEqual([type, version, same], ['header', 1, header]);
});

test('a filter that nothing passes stands in the answer', async () => {
  assert.match((await report('--comms', 'nope')).out, /^# Nothing passes --comms nope$/m);
  assert.match((await report('--dsos', 'nope', '--json')).err, /Nothing passes --dsos nope/);
  assert.match(
    (await report('--tree', '-S', 'nope')).out,
    /^# Nothing passes -S nope\. A function that was inlined counts as its caller\.$/m,
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
