import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ANYTHING,
  checkOptions,
  either,
  FLAG,
  FUNCTION,
  listOf,
  numberFrom,
  objectOf,
  oneOf,
  required,
  SIGNAL,
  TEXT,
  wholeNumberFrom,
} from './index.ts';

const TABLE = {
  name: TEXT,
  deep: FLAG,
  when: FUNCTION,
  level: oneOf('all', 'user', 5),
  factor: numberFrom(0.5, 2),
  count: { ...wholeNumberFrom(1), code: 'ERR_COUNT' },
  words: listOf(TEXT, 'a list of words'),
  place: objectOf({ line: required(wholeNumberFrom(1)) }),
  size: either(wholeNumberFrom(1), oneOf('max')),
  signal: SIGNAL,
  any: ANYTHING,
};

const check = (options: unknown) => checkOptions('run()', options, TABLE);

test('what is right goes through, and what is undefined is absent', () => {
  check({});
  check({
    name: 'x',
    deep: false,
    when: () => 1,
    level: 5,
    factor: 2,
    count: 1,
    words: [],
    size: 'max',
    any: 0,
  });
  check({ name: undefined, place: { line: 3 }, signal: new AbortController().signal });
  check(Object.assign(Object.create(null), { name: 'x' }));
});

test('what is wrong is named by its place', () => {
  const cases: [unknown, RegExp, string?][] = [
    [5, /^run\(\): the options should be an object, but is 5$/],
    [null, /should be an object, but is null$/],
    [['x'], /should be an object, but is \['x'\]$/],
    [{ nmae: 'x' }, /^run\(\): there is no option nmae; did you mean name\?$/],
    [{ toString: 'x' }, /there is no option toString/],
    [{ name: 5 }, /^run\(\): name should be text, but is 5$/],
    [{ deep: 'no' }, /deep should be true or false, but is 'no'$/],
    [{ when: {} }, /when should be a function, but is an object$/],
    [{ level: '5' }, /level should be one of all, user, 5, but is '5'$/],
    [{ factor: Number.NaN }, /factor should be a number from 0.5 to 2, but is NaN$/],
    [{ factor: '1' }, /but is '1'$/],
    [{ count: 1.5 }, /count should be a whole number from 1, but is 1.5$/, 'ERR_COUNT'],
    [{ count: 1n }, /but is 1n$/, 'ERR_COUNT'],
    [
      { words: ['a', 5, null, [1], () => 1, 'f'] },
      /a list of words, but is \['a', 5, null, \[…\], a function, …\]$/,
    ],
    [{ words: 'a' }, /a list of words, but is 'a'$/],
    [{ place: {} }, /place\.line should be a whole number from 1, but is undefined$/],
    [{ place: { line: 1, row: 2 } }, /there is no option place\.row/],
    [{ size: 'min' }, /size should be a whole number from 1, or max, but is 'min'$/],
    [{ signal: 'SIGTERM' }, /signal should be an AbortSignal, but is 'SIGTERM'$/],
    [{ name: Symbol('x') }, /but is Symbol\(x\)$/],
    [{ name: { toString: () => assert.fail('called') } }, /but is an object$/],
  ];
  for (const [options, message, code = 'ERR_OPTION'] of cases)
    assert.throws(() => check(options), { name: 'CounterpointError', code, message });
});
