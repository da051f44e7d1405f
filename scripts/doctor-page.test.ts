import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Names of what the page explains: the first column of its tables. */
const explained = [...readFileSync('docs/doctor.md', 'utf8').matchAll(/^\| `([^`]+)` \|/gm)].map(
  ([, name]) => name!,
);

test('doctor.md explains each finding of doctor, once, and nothing else', () => {
  const words = ['packages/node/bin/counterpoint.js', 'doctor', '--json'];
  const { stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const found: string[] = JSON.parse(stdout).checks.map(({ name }: { name: string }) => name);
  assert.ok(found.length > 20);
  assert.deepEqual([...explained].sort(), [...found].sort());
});
