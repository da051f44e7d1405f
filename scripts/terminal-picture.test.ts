import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { terminalPicture } from './terminal-picture.ts';

test('a line is as wide as its columns, and its text is text', () => {
  const picture = terminalPicture('$ a <b> & "c"\n\n  12.00%  f', 'title <1>');
  const rows = [...picture.matchAll(/<text x="16" y="([\d.]+)" textLength="([\d.]+)"[^>]*>([^<]*)<\/text>/g)];
  assert.deepEqual(
    rows.map(([, , length, text]) => [Number(length), text]),
    [
      [101.7, '$\u00a0a\u00a0&lt;b&gt;\u00a0&amp;\u00a0"c"'],
      [86.1, '\u00a0\u00a012.00%\u00a0\u00a0f'],
    ],
  );
  // The empty line has room, and no element.
  const [first, second] = rows.map(([, y]) => Number(y));
  assert.ok(second! - first! > 36 && second! - first! < 37);
  assert.match(picture, /<title>title\u00a0&lt;1&gt;<\/title>/);
});

test('a line that is too long is cut', () => {
  const picture = terminalPicture('x'.repeat(300), '');
  assert.match(picture, />x{109}…</);
});

test('each picture and page that the front page shows is there', () => {
  const text = readFileSync('README.md', 'utf8');
  const places = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, place]) => place!);
  assert.ok(places.length > 10);
  for (const place of places) assert.ok(existsSync(place), place);
});
