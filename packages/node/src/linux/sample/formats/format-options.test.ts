import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FormatOptionTable } from './format-option.ts';
import { checkFormatOptions, parseFormatOptions } from './format-options.ts';

const TABLE = {
  maxEntries: { type: 'count', default: 16384, min: 1, max: 1 << 20, help: 'buckets' },
  bufferSize: { type: 'bytes', default: 65536, min: 4096, help: 'a half' },
  interval: { type: 'duration', default: 1000, help: 'between two drains' },
  userOnly: { type: 'switch', default: false, help: 'not the kernel' },
  order: { type: 'choice', default: 'count', choices: ['count', 'time'], help: 'sorted by' },
  label: { type: 'text', default: '', help: 'a name' },
} as const satisfies FormatOptionTable;

const parse = (text: string) => parseFormatOptions('histogram', TABLE, text);

test('defaults, and every kind of value by its text', () => {
  const defaults = {
    maxEntries: 16384,
    bufferSize: 65536,
    interval: 1000,
    userOnly: false,
    order: 'count',
    label: '',
  };
  assert.deepEqual(parse(''), defaults);
  assert.deepEqual(parse('max-entries=20k,buffer-size=64K,interval=100ms,user-only,order=time,label=a=b'), {
    maxEntries: 20_000,
    bufferSize: 65536,
    interval: 100,
    userOnly: true,
    order: 'time',
    label: 'a=b',
  });
  assert.equal(parse('user-only=no').userOnly, false);
  assert.equal(parse('maxEntries=7').maxEntries, 7);
});

test('what is wrong is named, with what would be right', () => {
  const cases: [string, RegExp][] = [
    ['max-entrys=1', /no option max-entrys; did you mean max-entries\?/],
    ['max-entries', /needs a value for max-entries/],
    ['max-entries=0', /max-entries of the format histogram is from 1 to 1048576, not 0/],
    ['max-entries=1.5', /a whole number/],
    ['interval=99999999s', /interval of the format histogram is from 0 to 2147483647 ms, not 99999999000/],
    ['max-entries=5,maxEntries=6', /max-entries of the format histogram is given twice/],
    ['stacks', /no option stacks, which is a format itself/],
    ['interval=soon', /a time, such as 100ms or 1s, not soon/],
    ['buffer-size=1', /at least 4096, not 1/],
    ['user-only=maybe', /yes or no, not maybe/],
    ['order=size', /one of count, time, not size/],
    ['=5', /no option without a name/],
    ['constructor=5', /no option constructor/],
  ];
  for (const [text, message] of cases)
    assert.throws(
      () => parse(text),
      (error: Error & { code?: string }) => error.code === 'ERR_FORMAT_OPTION' && message.test(error.message),
      text,
    );
});

test('programs give values, not text', () => {
  assert.equal(checkFormatOptions('histogram', TABLE, { maxEntries: 5 }).maxEntries, 5);
  for (const given of [{ maxEntries: '5' }, { userOnly: 1 }, { interval: Number.NaN }, { unknown: 1 }])
    assert.throws(() => checkFormatOptions('histogram', TABLE, given), { code: 'ERR_FORMAT_OPTION' });
  const none: FormatOptionTable = {};
  assert.throws(() => parseFormatOptions('ring', none, 'a=1'), { remedy: 'It has none.' });
  assert.throws(() => parseFormatOptions('ring', none, 'histogram'), {
    remedy: 'Give two formats one by one: --format ring --format histogram',
  });
});
