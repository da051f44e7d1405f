/** Names of regular expressions of a Node that was started without flags. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { nodePrograms } from '../../../test/node-versions.ts';
import { record } from '../record/index.ts';
import { expressionNames } from './expression-names.ts';
import { HeapReader } from './heap-reader.ts';
import { type V8Layout, v8LayoutOf } from './v8-layout.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-expressions-'));
after(() => rmSync(folder, { recursive: true }));

/** The last one has units of two bytes, and so code of its own. */
const PROGRAM = `'use strict';
const parent = process.ppid;
const text = 'a'.repeat(300) + 'b';
function plain() { return /(?:a|b|ab)*c/.test(text); }
function flagged() { return text.replace(/A+d|x\\d+/gimsu, ''); }
function wide() { return /(?:a|b)*\\u20ac/.test(text + '\\u20ad'); }
console.log('up');
while (process.ppid === parent) { plain(); flagged(); wide(); }
`;
const NAMES = [
  "RegExp.> src: '(?:a|b|ab)*c' flags: ''",
  "RegExp.> src: 'A+d|x\\d+' flags: 'gimsu'",
  "RegExp.> src: '(?:a|b)*\\u20ac' flags: ''",
];
const { NODE_OPTIONS: _, ...env } = process.env;

for (const node of nodePrograms)
  test(`regular expressions have their names, read from outside: ${node}`, async (t) => {
    const script = join(folder, 'expressions.js');
    const output = join(folder, 'expressions.data');
    writeFileSync(script, PROGRAM);
    const child = spawn(node, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await onTime(async () => {
      const enough = new AbortController();
      await record({
        pids: [child.pid!],
        events: 'cpu-clock:u',
        frequency: 1000,
        callGraph: true,
        output,
        signal: AbortSignal.any([enough.signal, AbortSignal.timeout(20_000)]),
        onProgress: ({ samples }) => {
          if (samples >= 400) enough.abort();
        },
      });
      await using recording = await openRecording(output);
      const { profile } = await recording.profile();
      const names = new Set([...profile.symbols.name.view()].map((name) => profile.strings.get(name)));
      const found = [...names].filter((name) => name.startsWith('RegExp.'));
      assert.deepEqual(
        found.filter((name) => !NAMES.includes(name)),
        [],
      );
      assertOnTime(found.length === NAMES.length, found.join('\n'));
    });
  });

const MAPS = 0x1000;
const DATA = 0x2000;
const CODE = 0x5001n;
/** A string of one byte for each character, in one piece. */
const ONE_BYTE_STRING = 8;

/** Memory with arrays that say of what expression the code is. */
async function namesIn(texts: readonly string[], untilMs = Number.POSITIVE_INFINITY) {
  const known = await v8LayoutOf(process.execPath);
  assert.ok(typeof known !== 'string');
  const layout: V8Layout = { ...known, expressionData: null };
  const bytes = Buffer.alloc(0x6000);
  bytes.writeUInt16LE(layout.types.fixedArray, MAPS + 12);
  bytes.writeUInt16LE(ONE_BYTE_STRING, MAPS + 0x40 + 12);
  texts.forEach((text, row) => {
    const [array, string] = [DATA + row * 0x200, DATA + row * 0x200 + 0x100];
    const words = [BigInt(MAPS + 1), 12n << 32n, 2n << 32n, BigInt(string + 1), 2n << 32n, CODE];
    for (const [at, word] of words.entries()) bytes.writeBigUInt64LE(word, array + 8 * at);
    bytes.writeBigUInt64LE(BigInt(MAPS + 0x40 + 1), string);
    bytes.writeUInt32LE(text.length, string + 12);
    bytes.write(text, string + 16, 'latin1');
  });
  const path = join(folder, 'memory');
  writeFileSync(path, bytes);
  using heap = new HeapReader(path);
  return expressionNames(heap, layout, [{ start: DATA, end: 0x4000 }], new Set([CODE]), untilMs);
}

test('code of one expression has its name; of two, one of which is rubbish, none', async () => {
  assert.deepEqual([...(await namesIn(['a+b']))!], [[CODE, "RegExp.> src: 'a+b' flags: 'i'"]]);
  assert.deepEqual([...(await namesIn(['a+b', 'a+b']))!], [[CODE, "RegExp.> src: 'a+b' flags: 'i'"]]);
  assert.deepEqual([...(await namesIn(['a+b', 'c+d']))!], []);
  assert.equal(await namesIn(['a+b'], 0), null);
});
