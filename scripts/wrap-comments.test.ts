import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wideComments, wrapComments } from './wrap-comments-text.ts';

const WORDS = 'one two three four five six seven eight nine ten '.repeat(4).trim();
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
const words = (text: string) => text.match(/\w+/g);

test('a comment that is too wide is broken, in each form, and says the same', () => {
  for (const text of [
    `  /** ${WORDS} */`,
    `/**\n * ${WORDS}\n * and ${WORDS}\n */`,
    `\t// ${WORDS}\n\t// on ${WORDS}`,
  ]) {
    assert.notDeepEqual(wideComments(text), []);
    const wrapped = wrapComments(text);
    assert.ok(widest(wrapped) <= 110, wrapped);
    assert.deepEqual(words(wrapped), words(text));
    assert.deepEqual(wideComments(wrapped), []);
    assert.equal(wrapComments(wrapped), wrapped);
  }
});

test('lists, tags, pictures, directives and code stay as they are', () => {
  for (const text of [
    ` * - ${WORDS}`,
    ` * @throws ${WORDS}`,
    ` *   ${WORDS}`,
    ` * | ${WORDS} |`,
    `// biome-ignore ${WORDS}`,
    `const a = '${WORDS}'; // ${WORDS}`,
    `// https://${'long/'.repeat(40)}`,
  ])
    assert.equal(wrapComments(text), text);
});

test('a paragraph ends at an empty line and at a list', () => {
  const text = ` * ${WORDS}\n *\n * short\n * - item`;
  assert.deepEqual(wrapComments(text).split('\n').slice(-3), [' *', ' * short', ' * - item']);
});
