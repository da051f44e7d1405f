import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importCircles, typeOnlyCircles } from './import-circles.ts';

test('files of which each leads to each other are a circle', () => {
  const graph = new Map([
    ['a', ['b', 'elsewhere']],
    ['b', ['c']],
    ['c', ['b', 'd']],
    ['d', []],
  ]);
  assert.deepEqual(importCircles(graph), [['b', 'c']]);
});

test('a circle counts where types alone close it', () => {
  const texts = (imports: string) =>
    new Map([
      ['x/a.ts', `import { b } from './b.ts';\n`],
      ['x/b.ts', `${imports}\nexport const b = 1;\n`],
    ]);
  assert.deepEqual(typeOnlyCircles(texts("import type { A } from './a.ts';")), [['x/a.ts', 'x/b.ts']]);
  assert.deepEqual(typeOnlyCircles(texts("import {\n  type A,\n} from '../x/a.ts';")), [
    ['x/a.ts', 'x/b.ts'],
  ]);
  assert.deepEqual(typeOnlyCircles(texts("import { a, type A } from './a.ts';")), [], 'not by types alone');
  assert.deepEqual(typeOnlyCircles(texts('')), []);
});
