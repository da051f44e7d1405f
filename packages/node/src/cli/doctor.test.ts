import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counterpoint } from '../test/command-line.ts';

test('doctor: text and JSON say the same, and so does the exit status', async () => {
  const json = await counterpoint('doctor', '--json');
  const { type, canRecord, checks } = JSON.parse(json.out);
  assert.equal(type, 'doctor');
  assert.equal(json.status, canRecord ? 0 : 1);
  const text = await counterpoint('doctor');
  assert.equal(text.status, json.status);
  for (const { name, state } of checks) assert.match(text.out, new RegExp(`^${name} +${state} `, 'm'));
  assert.match(text.out, canRecord ? /Recording works/ : /does not work/);
});

test('doctor: a word that it does not know is a usage error', async () => {
  const { status, err, out } = await counterpoint('doctor', 'bogus');
  assert.deepEqual([status, out], [129, '']);
  assert.match(err, /takes no arguments, not 'bogus'/);
});
