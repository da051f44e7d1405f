import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectText } from '../../test/collect.ts';
import { bigProfile, hostileProfile, smallProfile } from '../../test/example-profile.ts';
import { assertGolden } from '../../test/golden.ts';
import { writeFolded } from './folded.ts';

/**
 * How flamegraph.pl takes a line apart; inferno and speedscope do it alike. What does not match is skipped.
 */
const LINE = /^(.*)\s+?(\d+(?:\.\d*)?)$/;

test('the small profile', () => {
  assertGolden('export/small.folded', collectText(writeFolded(smallProfile())));
});

test('weights and marks on request', () => {
  const options = { weight: 'period', annotate: true } as const;
  assertGolden('export/small.annotated.folded', collectText(writeFolded(smallProfile(), options)));
});

test('another event', () => {
  const lines = collectText(writeFolded(smallProfile(), { event: 1 })).split('\n');
  assert.match(lines[0]!, /^node;__libc_start_main;.*fib \/app\/demo\.js:3:13 1$/);
  assert.throws(() => [...writeFolded(smallProfile(), { event: 2 })], /there is no event 2/);
});

test('each stack is one line and the counts are all samples', () => {
  const profile = bigProfile(20_000, 5000);
  const lines = collectText(writeFolded(profile)).trimEnd().split('\n');
  const matches = lines.map((line) => LINE.exec(line)!);
  assert.equal(new Set(matches.map((match) => match[1])).size, lines.length);
  assert.equal(
    matches.reduce((sum, match) => sum + Number(match[2]), 0),
    20_000,
  );
});

test('losses are lines that every reader skips', () => {
  const lines = collectText(writeFolded(smallProfile())).trimEnd().split('\n');
  const comments = lines.filter((line) => line.startsWith('#'));
  assert.equal(comments.length, 2);
  for (const comment of comments) assert.doesNotMatch(comment, LINE);
  assert.deepEqual(lines.slice(-2), comments);
  const complete = smallProfile();
  complete.loss = [];
  assert.doesNotMatch(collectText(writeFolded(complete)), /#/);
});

test('hostile names break no line, no stack and no count', () => {
  const lines = collectText(writeFolded(hostileProfile(), { annotate: true, weight: 'samples' }))
    .trimEnd()
    .split('\n');
  const stacks = lines.filter((line) => !line.startsWith('#'));
  assert.equal(stacks.length, 16);
  for (const line of stacks) {
    const [, stack = '', count] = LINE.exec(line)!;
    assert.equal(count, '1');
    assert.equal(stack.split(';').length, 3, line.slice(0, 200));
    assert.doesNotMatch(stack, LINE, 'would be read as a difference of two profiles');
    assert.ok(line.length < 20_000);
  }
  assert.equal(lines.length, 17);
  assert.doesNotMatch(lines[16]!, LINE);
});
