import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenSignature, filledComment } from './api-lines.ts';

test('a long signature has a line for each parameter; a short one stays', () => {
  assert.equal(brokenSignature('function f(a: 1): 2;'), 'function f(a: 1): 2;');
  assert.equal(
    brokenSignature(
      '  view(profile: Profile<A, B>, isFolded?: (file: string, line: number) => boolean): Time | null;',
    ),
    [
      '  view(',
      '    profile: Profile<A, B>,',
      '    isFolded?: (file: string, line: number) => boolean,',
      '  ): Time | null;',
    ].join('\n'),
  );
  const property = `name: ${"'a' | ".repeat(20)}'b';`;
  assert.equal(brokenSignature(property), property);
});

test('paragraphs of a comment are filled; lists and drawings keep their lines', () => {
  assert.deepEqual(filledComment('one two\nthree four five\n\n- a list of things\n  goes on', 9), [
    'one two',
    'three',
    'four five',
    '',
    '- a list of things',
    '  goes on',
  ]);
});
