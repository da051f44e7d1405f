/** Source maps that are nowhere but in the memory of a process. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openRecording } from '../../../host/open/index.ts';
import { record } from '../record/index.ts';
import { hasPlacesOf } from './loaded-code.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-memory-'));
after(() => rmSync(folder, { recursive: true }));

/** Code that is made of text, with a map, as loaders make it; twice, with other lines. */
const PROGRAM = `
const vm = require('node:vm');
const load = (name, line) => {
  const map = { version: 3, sources: [name + '.src'], names: [], mappings: 'AA' + line + 'A' };
  const url = 'data:application/json;base64,' + Buffer.from(JSON.stringify(map)).toString('base64');
  const code = '(function work(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; })';
  return vm.runInThisContext(code + '\\n//# sourceMappingURL=' + url, { filename: '/virtual/' + name + '.js' });
};
const functions = [load('one', 'E'), load('two', 'E'), load('two', 'G')];
const end = process.cpuUsage().user + 1_000_000;
let all = 0;
while (process.cpuUsage().user < end) for (const work of functions) all ^= work(20000);
`;

test('a script that a program made has the map that it was made with; of two of one name neither is believed', async () => {
  const script = join(folder, 'loader.js');
  const output = join(folder, 'loader.data');
  writeFileSync(script, PROGRAM);
  await record({
    command: [process.execPath, script],
    events: 'cpu-clock:u',
    frequency: 1000,
    callGraph: true,
    nodeNames: true,
    output,
  });
  await using recording = await openRecording(output);
  const { profile, sourceMaps, diagnostics } = await recording.profile();
  const names = Array.from({ length: profile.symbols.length }, (_, row) =>
    profile.strings.get(profile.symbols.name.at(row)),
  );
  assert.ok(
    names.some((name) => name.startsWith('JS:work /virtual/one.src:3:')),
    names.join('\n'),
  );
  assert.ok(
    names.some((name) => name.startsWith('JS:work /virtual/two.js (generated):1:')),
    names.join('\n'),
  );
  assert.deepEqual(sourceMaps?.faults, [
    { script: '/virtual/two.js', map: null, reason: 'the process had several maps of it' },
  ]);
  assert.ok(
    diagnostics.some(({ code, detail }) => code === 'source-maps' && detail.includes('/virtual/two.js')),
  );
});

/** Of which code is made when it is loaded. */
const FILE = `interface Box { size: number }
// é ✓
const size = (box: Box): number => box.size as number;
`;

test('blanks in the place of types, a wrapper, a byte order mark and what is behind keep places', () => {
  const stripped = `                              
// é ✓
const size = (box     )         => box.size          ;
`;
  assert.ok(hasPlacesOf(FILE, FILE));
  assert.ok(hasPlacesOf(FILE, `\ufeff${FILE}`));
  assert.ok(hasPlacesOf(`${stripped}\n\n//# sourceURL=file:///app/box.ts`, FILE));
  assert.ok(hasPlacesOf(`(function (exports, require) { ${FILE}\n});`, FILE));
});

test('a compiler that moves code, or writes other code into the same lines, keeps none', () => {
  assert.ok(!hasPlacesOf('const size=(box)=>box.size;\n', FILE));
  assert.ok(!hasPlacesOf(`"use strict";\n${FILE.replace('const', 'var')}`, FILE));
  assert.ok(!hasPlacesOf(FILE.replace('box.size', 'xob.size'), FILE));
  assert.ok(!hasPlacesOf(`// made\n${FILE}`, FILE));
  assert.ok(!hasPlacesOf('', FILE));
});
