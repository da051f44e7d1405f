/** Functions that V8 inlines, by what programs are known to do, on each version of Node that is here. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openRecording } from '../open/index.ts';
import { record } from '../record/index.ts';
import { javascriptStack } from '../test/javascript-stack.ts';
import { nodePrograms } from '../test/node-versions.ts';
import { v8LayoutOf } from './v8-layout.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-inlined-'));
after(() => rmSync(folder, { recursive: true }));

/**
 * Each phase spends its time in a small function, `...Hot`, which is called by `...Caller`. They are small,
 * and called often: V8 inlines them all.
 */
const PROGRAM = `'use strict';
const until = (run) => { const end = Date.now() + 350; while (Date.now() < end) run(); };
function deepHot(a, b) { let x = a ^ b; for (let i = 0; i < 200; i++) x = (x * 31 + i) | 0; return x; }
function deepMiddle(a) { let s = 0; for (let j = 0; j < 3; j++) s = (s + deepHot(a, j)) | 0; return s; }
function deepCaller(n) { let t = 0; for (let k = 0; k < n; k++) t ^= deepMiddle(k); return t; }
const arrowHot = (a) => { let x = a; for (let i = 0; i < 200; i++) x = (x * 33 + i) | 0; return x; };
const list = Array.from({ length: 100 }, (_, i) => i);
function arrowCaller() { let t = 0; list.forEach((a) => { t ^= arrowHot(a); }); return t; }
class Thing {
  #sum = 0;
  methodHot(a) { let x = a; for (let i = 0; i < 200; i++) x = (x * 35 + i) | 0; this.#sum ^= x; }
  methodCaller(n) { for (let k = 0; k < n; k++) this.methodHot(k); return this.#sum; }
}
const generatorHot = (a) => { let x = a; for (let i = 0; i < 200; i++) x = (x * 37 + i) | 0; return x; };
function* numbers(n) { for (let i = 0; i < n; i++) yield i; }
function generatorCaller(n) { let t = 0; for (const a of numbers(n)) t ^= generatorHot(a); return t; }
const evaluated = eval('(function evaluatedCaller(n) { let t = 0; for (let k = 0; k < n; k++) t ^= evaluatedHot(k); return t; function evaluatedHot(a) { let x = a; for (let i = 0; i < 200; i++) x = (x * 39 + i) | 0; return x; } })');
const asyncHot = (a) => { let x = a; for (let i = 0; i < 200; i++) x = (x * 41 + i) | 0; return x; };
async function asyncCaller(n) { let t = 0; for (let k = 0; k < n; k++) t ^= asyncHot(k); await null; return t; }
const thing = new Thing();
until(() => deepCaller(300));
until(() => arrowCaller());
until(() => thing.methodCaller(300));
until(() => generatorCaller(300));
until(() => evaluated(300));
(async () => { const end = Date.now() + 350; while (Date.now() < end) await asyncCaller(300); })();
`;

for (const node of nodePrograms)
  test(`time is the function's whose code runs, inlined or not, and it has its callers: ${node}`, async () => {
    const script = join(folder, 'phases.js');
    const output = join(folder, 'phases.data');
    writeFileSync(script, PROGRAM);
    const { notes } = await record({
      command: [node, script],
      events: 'cpu-clock:u',
      frequency: 1000,
      callGraph: true,
      nodeNames: true,
      output,
    });
    assert.deepEqual(
      notes.filter(({ kind }) => kind === 'inlined-code'),
      [],
    );
    await using recording = await openRecording(output);
    const { profile, diagnostics } = await recording.profile();
    assert.deepEqual(
      diagnostics.filter(({ code }) => code === 'inlined-code-damaged'),
      [],
    );
    const chains: Record<string, string[]> = {
      deep: ['deepCaller', 'deepMiddle', 'deepHot'],
      arrow: ['arrowCaller', 'arrowHot'],
      method: ['methodCaller', 'methodHot'],
      generator: ['generatorCaller', 'generatorHot'],
      evaluated: ['evaluatedCaller', 'evaluatedHot'],
      async: ['asyncCaller', 'asyncHot'],
    };
    const all = new Map<string, number>();
    const right = new Map<string, number>();
    for (let row = 0; row < profile.samples.length; row++) {
      const names = javascriptStack(profile, profile.samples.stack.at(row));
      const phase = names.map((name) => /^([a-z]+)(?:Caller|Hot)$/.exec(name)?.[1]).find(Boolean);
      const chain = phase === undefined ? undefined : chains[phase];
      if (phase === undefined || chain === undefined) continue;
      all.set(phase, (all.get(phase) ?? 0) + 1);
      // Each of the chain, in this order, and the last one innermost.
      let next = 0;
      for (const name of names) if (name === chain[next]) next++;
      if (next === chain.length && names.at(-1) === chain.at(-1))
        right.set(phase, (right.get(phase) ?? 0) + 1);
    }
    for (const phase of Object.keys(chains)) {
      const count = all.get(phase) ?? 0;
      assert.ok(count > 100, `${phase}: ${count} samples`);
      const share = (right.get(phase) ?? 0) / count;
      assert.ok(share > 0.9, `${phase}: ${share} of ${count} samples are of ${chains[phase]!.join(' ')}`);
    }
  });

test('a program without V8 is no gap, and every Node here has a layout', async () => {
  assert.equal(await v8LayoutOf('/bin/true'), 'no-v8');
  for (const node of nodePrograms) assert.equal(typeof (await v8LayoutOf(node)), 'object', node);
});
