import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';

test('functions of a JavaScript program have names', async () => {
  writeFileSync(
    'hot.js',
    'function hot(n) { let s = 0; for (let i = 0; i < n; i++) s ^= i * i; return s }\nhot(3e7)',
  );
  const file = '/tmp/node.data';
  const recorded = await counterpoint(
    'record',
    '-F',
    '200',
    '-e',
    'cycles:u',
    '-o',
    file,
    '--',
    'node',
    'hot.js',
  );
  assert.equal(recorded.status, 0, recorded.err);
  const { out } = await counterpoint('report', '--no-children', '--sort', 'symbol', '-i', file);
  assert.match(out, /JS:[*^~]?hot file:\/\/\/host\/hot\.js:1|JS:[*^~]?hot \/host\/hot\.js:1/);
});
