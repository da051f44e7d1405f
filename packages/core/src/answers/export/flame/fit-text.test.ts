import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cut, fitText, visibleText, wrapWords } from './fit-text.ts';
import { boxDetail } from './places.ts';

test('a name is cut where its box ends, and the source is shown where there is room for all of it', () => {
  assert.deepEqual(fitText('fib', 'fib.js:1', 200, 7), { name: 'fib', detail: 'fib.js:1' });
  assert.deepEqual(fitText('fib', 'fib.js:1', 80, 7), { name: 'fib', detail: '' });
  assert.deepEqual(fitText('fibonacci', 'fib.js:1', 50, 7), { name: 'fibon…', detail: '' });
  assert.equal(fitText('fib', '', 20, 7), null);
});

test('a cut text has at most the columns asked for', () => {
  assert.equal(cut('abc', 3), 'abc');
  assert.equal(cut('abcd', 3), 'ab…');
  assert.equal(cut('日本語', 6), '日本語');
  assert.equal(cut('日本語', 5), '日本…');
  assert.equal(cut('👩👩', 3), '👩…');
});

test('lines hold all words in order until the last is cut', () => {
  assert.deepEqual(wrapWords('one two three', 7, 3), ['one two', 'three']);
  assert.deepEqual(wrapWords('one two three four five', 7, 2), ['one two', 'three …']);
  assert.deepEqual(wrapWords('', 7, 2), ['']);
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 3, max: 30 }), (text, columns) => {
      const lines = wrapWords(text, columns, 4);
      assert.ok(lines.length <= 4);
      for (const line of lines) assert.ok([...line].length <= columns);
    }),
  );
});

test('what XML forbids and what turns text around becomes visible', () => {
  assert.equal(visibleText('a\u0000\n\u007f\u202e\ufffe\ud800b'), 'a\u2400\u240a\ufffd\ufffd\ufffd\ufffdb');
  assert.equal(visibleText('👩‍🔬'), '👩‍🔬');
  fc.assert(
    fc.property(
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
      (text) => {
        // XML 1.0, production 2, without the control characters beyond ASCII that it discourages.
        assert.match(visibleText(text), /^[\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u);
      },
    ),
  );
});

test('places are shown short', () => {
  assert.equal(boxDetail('/app/lib/fib.js:1:13', '*'), 'fib.js:1 *');
  assert.equal(boxDetail('node:internal/fs:7:1', ''), 'fs:7');
  assert.equal(boxDetail('x.js', '~'), 'x.js ~');
  assert.equal(boxDetail('', '~'), '');
});
