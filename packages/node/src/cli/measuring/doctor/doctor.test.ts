import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';

test('doctor: text and JSON say the same, and so does the exit status', async () => {
  const json = await counterpoint('doctor', '--json');
  const { type, canRecord, checks } = JSON.parse(json.out);
  assert.equal(type, 'doctor');
  assert.equal(json.status, canRecord ? 0 : 1);
  const text = await counterpoint('doctor', '-v');
  assert.equal(text.status, json.status);
  for (const { name, state } of checks) assert.match(text.out, new RegExp(`^${name} +${state} `, 'm'));
  assert.match(text.out, canRecord ? /Recording works/ : /does not work/);
});

test('doctor: no gap is left out of the short answer; its keys are there for programs', async () => {
  const { checks } = JSON.parse((await counterpoint('doctor', '--json')).out);
  const { out } = await counterpoint('doctor');
  for (const { name, state, fix } of checks)
    if (state !== 'ok' && fix !== '') assert.match(out, new RegExp(`^${name} +${state} `, 'm'));
  assert.match(out, /more: counterpoint doctor -v shows them/);
  const facts = new Map(
    checks.map((one: { name: string; facts?: object }) => [one.name, Object.keys(one.facts ?? {})]),
  );
  assert.deepEqual(facts.get('capabilities'), [
    'effective',
    'permitted',
    'inheritable',
    'noNewPrivileges',
    'userNamespace',
  ]);
  for (const [name, key] of [
    ['PMUs', 'pmus'],
    ['counters', 'free'],
    ['reads in user space', 'allowed'],
    ['exclusive use', 'holder'],
    ['debug symbols', 'buildId'],
    ['system calls', 'seccomp'],
  ])
    assert.ok((facts.get(name) as string[]).includes(key!), name);
});

test('doctor: a word that it does not know is a usage error', async () => {
  const { status, err, out } = await counterpoint('doctor', 'bogus');
  assert.deepEqual([status, out], [129, '']);
  assert.match(err, /there is a word too many: bogus/);
});
