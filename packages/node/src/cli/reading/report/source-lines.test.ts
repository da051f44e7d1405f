/** Lines of JavaScript, of programs whose hot line is known. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { nodePrograms } from '../../../test/node-versions.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-lines-'));
after(() => rmSync(folder, { recursive: true }));

/** The division of line 5 costs most; it is inlined at line 11, and its caller at line 17. */
const PROGRAM = `'use strict';
function inmost(a, b) {
  let x = a | 0;
  for (let i = 1; i < 60; i++)
    x = (x % ((b + i) | 1) + i * 7919) | 0;
  return x;
}
function middle(n) {
  let t = 0;
  for (let i = 0; i < n; i++) {
    t = (t + inmost(t, i)) | 0;
  }
  return t;
}
function outer(n) {
  let s = 0;
  for (let k = 0; k < n; k++) s ^= middle(20);
  return s;
}
const cpuUs = () => process.cpuUsage().user;
const end = cpuUs() + 1_500_000;
let r = 0;
while (cpuUs() < end) r ^= outer(50);
`;

interface Row {
  percent: number;
  selfPercent: number;
  srcline: string;
  source: { file: string; line: number; column?: number; precision: string } | null;
}

for (const node of nodePrograms)
  test(`time is of the line whose code runs, and of the lines that called it: ${node}`, async () => {
    const script = join(folder, 'lines.js');
    const data = join(folder, 'lines.data');
    writeFileSync(script, PROGRAM);
    const words = ['-q', '-g', '-F', '1000', '-e', 'cpu-clock:u', '-o', data, '--', node, script];
    await onTime(async () => {
      const recorded = await counterpoint('record', ...words);
      assert.equal(recorded.status, 0, recorded.err);
      const answer = JSON.parse(
        (await counterpoint('report', '--sort', 'srcline', '--json', '-i', data)).out,
      );
      const rows: Row[] = answer.events[0].rows;
      const at = (line: number) => rows.find(({ srcline }) => srcline === `${script}:${line}`);
      const hot = rows.reduce((a, b) => (a.selfPercent > b.selfPercent ? a : b));
      const shown = JSON.stringify(rows.slice(0, 8));
      // Where others take the CPU, V8 compiles later, and code is read later that may be gone by then.
      assertOnTime(hot.srcline === `${script}:5`, shown);
      assert.equal(hot.source?.file, script);
      assert.equal(hot.source?.precision, 'line');
      for (const line of [11, 17]) {
        // A caller has its own time at the line of the call, and that of what it calls.
        assertOnTime((at(line)?.percent ?? 0) > 70, `${line}: ${shown}`);
        assertOnTime((at(line)?.selfPercent ?? 0) < 20, `${line}: ${shown}`);
      }
    });
    const text = (await counterpoint('report', '--sort', 'symbol,srcline', '-i', data)).out;
    assert.match(text, /^# Self +Children +Function +Source:Line$/m);
    assert.match(text, new RegExp(`inmost ${script}:2:16 +${script}:5$`, 'm'));
    const exported = (await counterpoint('export', '-f', 'cpuprofile', '-o', '-', '-i', data)).out;
    const { nodes } = JSON.parse(exported);
    const ticks = new Map<number, number>();
    for (const { callFrame, positionTicks = [] } of nodes)
      if (callFrame.functionName === 'inmost')
        for (const { line, ticks: count } of positionTicks) ticks.set(line, (ticks.get(line) ?? 0) + count);
    const most = [...ticks].sort((a, b) => b[1] - a[1])[0];
    assert.equal(most?.[0], 5, JSON.stringify([...ticks]));
    const firefox = JSON.parse((await counterpoint('export', '-f', 'firefox', '-o', '-', '-i', data)).out);
    assert.ok(firefox.shared.frameTable.line.includes(5) && firefox.shared.frameTable.line.includes(17));
  });

test('of code whose line nobody recorded, the line of its function is shown and marked', async () => {
  const script = join(folder, 'slow.js');
  const data = join(folder, 'slow.data');
  writeFileSync(script, PROGRAM);
  const flags = ['--no-opt', '--no-sparkplug', '--no-maglev'];
  const words = ['-q', '-g', '-F', '1000', '-e', 'cpu-clock:u', '-o', data, '--'];
  await counterpoint('record', ...words, process.execPath, ...flags, script);
  const { events } = JSON.parse(
    (await counterpoint('report', '--sort', 'srcline', '--json', '-i', data)).out,
  );
  const hot: Row = events[0].rows.reduce((a: Row, b: Row) => (a.selfPercent > b.selfPercent ? a : b));
  assert.equal(hot.srcline, `${script}:2 (function)`);
  assert.equal(hot.source?.precision, 'function');
});
