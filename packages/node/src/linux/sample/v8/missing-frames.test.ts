/** Functions that call code without a frame, of which the kernel's call chain knows nothing. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { nodePrograms } from '../../../test/node-versions.ts';
import { record } from '../record/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-missing-'));
after(() => rmSync(folder, { recursive: true }));

/**
 * `hot` adds up properties of objects of forty shapes: V8 asks a builtin for each. It runs so
 * long that what its callers do themselves is nothing beside it: calls of `hot`, and the
 * kernel's work for `process.cpuUsage`.
 */
const PROGRAM = `'use strict';
const list = [];
for (let i = 0; i < 40; i++) {
  const one = {};
  for (let j = 0; j < i % 13; j++) one['p' + j] = j;
  one.x = i;
  list.push(one);
}
function hot(n) { let t = 0; for (let i = 0; i < n; i++) { const o = list[i % 40]; t = (t * 31 + o.x) | 0; } return t; }
function caller(n) { let t = 0; for (let i = 0; i < n; i++) t ^= hot(2000); return t; }
function outer() { const start = process.cpuUsage(); while (process.cpuUsage(start).user < 600e3) caller(50); }
outer();
`;

const TIERS = {
  'the interpreter': '--no-opt --no-maglev --no-sparkplug',
  'baseline code': '--no-opt --no-maglev --always-sparkplug',
  'optimised code': '--no-maglev',
};

for (const node of nodePrograms)
  for (const [tier, flags] of Object.entries(TIERS))
    test(`time in builtins and handlers is the function's that runs them, in ${tier}: ${node}`, async () => {
      await onTime(async () => {
        const script = join(folder, 'missing.js');
        const output = join(folder, 'missing.data');
        writeFileSync(script, PROGRAM);
        const { notes } = await record({
          command: [node, ...flags.split(' '), script],
          events: 'cpu-clock:u',
          frequency: 1000,
          callGraph: true,
          nodeNames: true,
          output,
        });
        await using recording = await openRecording(output);
        const { profile, diagnostics } = await recording.profile();
        const count = { all: 0, right: 0, handlers: 0 };
        for (let row = 0; row < profile.samples.length; row++) {
          const names = javascriptStack(profile, profile.samples.stack.at(row));
          if (!names.includes('outer')) continue;
          count.all++;
          if (names.slice(-3).join(' ') === 'outer caller hot') count.right++;
          const frame = profile.stacks.frame.at(profile.samples.stack.at(row));
          const symbol = profile.symbols.name.at(profile.frames.symbol.at(frame));
          if (/^Builtins_.*Handler$/.test(profile.strings.get(symbol))) count.handlers++;
        }
        // Once, on a busy machine, there was none at all: what is known of it is told.
        assertOnTime(
          count.all > 300,
          JSON.stringify({ count, samples: profile.samples.length, notes, diagnostics }),
        );
        // Without the top of the stack it is a quarter to two thirds.
        assert.ok(count.right > 0.9 * count.all, JSON.stringify(count));
        assert.ok(count.handlers < 0.03 * count.all, JSON.stringify(count));
      });
    });
