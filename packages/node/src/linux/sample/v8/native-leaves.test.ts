/** JavaScript that calls native functions without a frame, of which the kernel's call chain knows nothing. */
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

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-native-'));
after(() => rmSync(folder, { recursive: true }));

const MATH = ['exp', 'cbrt', 'log', 'sin', 'tan', 'atan'];
/** V8 does these in functions of its own in C++, which need no frame: `v8::base::ieee754::exp`. */
const MATH_PROGRAM = `'use strict';
${MATH.map((name) => `function ${name}User() { let t = 0; for (let i = 1; i < 2e4; i++) t += Math.${name}(i * 1e-3); return t; }`).join('\n')}
const users = [${MATH.map((name) => `${name}User`).join(', ')}];
let sum = 0;
function caller() { for (const user of users) sum += user(); }
function outer() { const start = process.cpuUsage(); while (process.cpuUsage(start).user < 900e3) caller(); }
outer();
`;

for (const node of nodePrograms)
  test(`time in native code without a frame is that of the function that called it: ${node}`, async () => {
    const script = join(folder, 'math.js');
    const output = join(folder, 'math.data');
    writeFileSync(script, MATH_PROGRAM);
    await onTime(async () => {
      await record({
        // What is inlined into its caller is another matter.
        command: [node, '--no-turbo-inlining', '--no-maglev', script],
        events: 'cpu-clock:u',
        frequency: 1000,
        callGraph: true,
        nodeNames: true,
        output,
      });
      await using recording = await openRecording(output);
      const { profile } = await recording.profile();
      const counts = new Map<string, number>();
      let all = 0;
      for (let row = 0; row < profile.samples.length; row++) {
        const names = javascriptStack(profile, profile.samples.stack.at(row));
        const innermost = names.at(-1)!;
        if (!names.includes('caller')) continue;
        all++;
        counts.set(innermost, (counts.get(innermost) ?? 0) + 1);
      }
      const found = JSON.stringify([...counts]);
      assertOnTime(all > 300, `${all} samples`);
      // Without their frame information a third to two thirds are the caller's.
      assert.ok((counts.get('caller') ?? 0) < 0.08 * all, found);
      for (const name of MATH) assert.ok((counts.get(`${name}User`) ?? 0) > 0.02 * all, found);
    });
  });
