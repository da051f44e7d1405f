import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY_HELP, parseKeys, pressKey, startState, type TopState } from './keys.ts';

const SHOWN = { events: 2, rows: 50, page: 20 };

function after(keys: readonly string[], start: TopState = startState({ sort: ['dso', 'symbol'] })): TopState {
  return keys.reduce((state, key) => pressKey(state, key, SHOWN).state, start);
}

function effectOf(key: string, state?: TopState): string {
  return pressKey(state ?? startState({ sort: ['comm'] }), key, SHOWN).effect;
}

test('what a terminal sends, as names of keys', () => {
  assert.deepEqual(parseKeys('q\x1b[A\x1bOBs/é\r\x7f\x1b'), [
    ...['q', 'up', 'down', 's', '/', 'é', 'enter', 'backspace', 'escape'],
  ]);
  assert.deepEqual(parseKeys('\x03\x1a\x0c\x1b[5~\x1b[6~\x1b[H\x1b[F'), [
    ...['ctrl-c', 'ctrl-z', 'ctrl-l', 'page-up', 'page-down', 'home', 'end'],
  ]);
  // What is not known must not be taken for letters: a mouse, a focus, F5, Ctrl-right.
  assert.deepEqual(parseKeys('\x1b[I\x1b[15~\x1b[1;5Cx\x01\x00'), ['x']);
});

test('how it ends', () => {
  assert.equal(effectOf('q'), 'quit');
  assert.equal(effectOf('ctrl-c'), 'interrupt');
  assert.equal(effectOf('ctrl-d', after(['/'])), 'quit');
  assert.equal(effectOf('ctrl-z'), 'suspend');
  assert.equal(effectOf('ctrl-l'), 'repaint');
  assert.equal(effectOf('x'), 'none');
  // In a filter q is a letter; in help it ends, and every other key leads back.
  assert.equal(effectOf('q', after(['/'])), 'none');
  assert.equal(effectOf('ctrl-c', after(['/'])), 'interrupt');
  assert.equal(effectOf('q', after(['h'])), 'quit');
  assert.equal(after(['h', 'x']).isHelp, false);
});

test('s goes through the keys, beginning with what was asked for', () => {
  const start = startState({ sort: ['symbol', 'pid'] });
  const seen = new Set<string>();
  let state = start;
  do {
    seen.add(state.sorts[state.sort]!.join());
    state = after(['s'], state);
  } while (state.sort !== 0);
  assert.equal([...seen][0], 'symbol,pid');
  assert.ok(seen.has('dso,symbol') && seen.has('comm') && seen.size === start.sorts.length);
  assert.equal(startState({ sort: ['comm'] }).sorts.filter((keys) => keys.join() === 'comm').length, 1);
});

test('a filter is typed, changed, given up, and taken away', () => {
  assert.deepEqual(after(['/', 'l', 'ö', 'x', 'backspace', 'enter']).filter, 'lö');
  const filtered = after(['/', 'a', 'enter']);
  assert.deepEqual([filtered.filter, filtered.prompt], ['a', null]);
  assert.equal(after(['/', 'b'], filtered).prompt, 'ab');
  assert.equal(after(['/', 'ctrl-u', 'b', 'enter'], filtered).filter, 'b');
  assert.equal(after(['/', 'b', 'escape'], filtered).filter, 'a');
  assert.equal(after(['escape'], filtered).filter, '');
  assert.equal(after(['/', 'up', 'enter'], filtered).filter, 'a');
});

test('rows: scrolled within what there is, more and fewer', () => {
  assert.equal(after(['down', 'down', 'up']).first, 1);
  assert.equal(after(['up']).first, 0);
  assert.equal(after(['page-down', 'page-down', 'page-down']).first, 30);
  assert.equal(after(['end', 'page-up']).first, 10);
  assert.equal(after(['end', 's']).first, 0);
  assert.equal(after(['-', '-']).lines, 18);
  assert.equal(after(['-', '+', '+']).lines, 21);
  assert.equal(after(['-', '0']).lines, null);
  assert.equal(after(['+']).lines, null);
});

test('switches', () => {
  assert.equal(after(['z']).isZero, true);
  assert.equal(after(['p']).isPaused, true);
  assert.equal(after([' ', 'p']).isPaused, false);
  assert.deepEqual(
    [after(['K']).hideKernel, after(['K', 'U']).hideKernel, after(['K', 'U']).hideUser],
    [...[true, false, true]],
  );
  assert.equal(after(['e']).event, 1);
  assert.equal(after(['e', 'e']).event, 0);
  assert.ok(after(['i']).showIdle && after(['n']).showSamples);
});

test('help names every letter that does something, and no other', () => {
  const start = startState({ sort: ['comm'], lines: 5, first: 3, filter: 'x' });
  const named = new Set(KEY_HELP.flatMap(([keys]) => keys.split(/[ ,]+/)));
  for (const key of [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/?+-0']) {
    const { state, effect } = pressKey(start, key, SHOWN);
    assert.equal(state !== start || effect !== 'none', named.has(key) || key === '0', key);
  }
});
