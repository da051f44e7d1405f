/** Memory of code that has been used again is not taken for what was there before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FunctionPlace, ScriptLines } from './function-places.ts';
import { isPlaceOf } from './optimised-code.ts';

function place(name: string, file: string): FunctionPlace {
  const script = new ScriptLines(
    file,
    file || 'eval at a (/app/b.js:1:2), <anonymous>',
    new Int32Array(),
    0,
    0,
  );
  return { name: () => name, script, line: 3, column: 24 };
}

test('functions that eval made are told apart by their names: all have the same place', () => {
  assert.ok(isPlaceOf(place('churn20', ''), 'JS:^churn20 :3:24'));
  assert.ok(!isPlaceOf(place('churn30', ''), 'JS:^churn20 :3:24'));
  assert.ok(!isPlaceOf(place('', ''), 'JS:^churn20 :3:24'));
  assert.ok(isPlaceOf(place('', ''), 'JS:^ :3:24'));
});

test('functions of files are told apart by their places: V8 may call them by what they are assigned to', () => {
  assert.ok(isPlaceOf(place('', '/app/b.js'), 'JS:*module.exports.run /app/b.js:3:24'));
  assert.ok(!isPlaceOf(place('run', '/app/b.js'), 'JS:*run /app/b.js:4:24'));
  assert.ok(!isPlaceOf(place('run', '/app/b.js'), 'JS:*run /app/c.js:3:24'));
});
