/** What a Node developer sees: whose the time is, beside what the program measured of itself. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { counterpoint } from '../../test/command-line.ts';
import { nodePrograms } from '../../test/node-versions.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-javascript-'));
after(() => rmSync(folder, { recursive: true }));

/** Functions that let others work for them, and the CPU time of each on the main thread. */
const PROGRAM = `'use strict';
const { openSync, readFileSync, readSync, writeFileSync } = require('node:fs');
const { deflateSync } = require('node:zlib');
const text = Buffer.from(Array.from({ length: 200_000 }, (_, i) => 32 + ((i * 7919) % 91)));
function computes() { let t = 0; for (let i = 0; i < 3e6; i++) t = (t * 31 + i) | 0; return t; }
let kept = [];
function allocates() { for (let i = 0; i < 1e5; i++) { kept.push({ i, next: [i] }); if (kept.length > 2e5) kept = []; } }
function matches() { let n = 0; for (let i = 0; i < 40; i++) n += /(x+x+)+y/.test('x'.repeat(18)) ? 1 : 0; return n; }
function compresses() { return deflateSync(text).length; }
const zeros = openSync('/dev/zero');
function reads() { let n = 0; for (let i = 0; i < 20; i++) n += readSync(zeros, text); return n; }
const own = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'latin1').split(' ')[0]);
const times = {};
for (const work of [computes, allocates, matches, compresses, reads]) {
  const start = own();
  while (own() - start < 250e6) work();
  times[work.name] = own() - start;
}
writeFileSync(process.argv[2], JSON.stringify(times));
`;

interface Row {
  symbol: string;
  file?: string;
  percent: number;
}

interface CpuProfile {
  nodes: { callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number } }[];
}

function placeOf(nodes: CpuProfile['nodes'], name: string) {
  const found = nodes.find(({ callFrame }) => callFrame.functionName === name);
  if (found === undefined) return null;
  const { url, lineNumber, columnNumber } = found.callFrame;
  return { url, lineNumber, columnNumber };
}

for (const node of nodePrograms)
  test(`time counts for the function that caused it: ${node}`, async () => {
    const script = join(folder, 'app.js');
    const [data, truth] = [join(folder, 'app.data'), join(folder, 'truth.json')];
    writeFileSync(script, PROGRAM);
    const recorded = await counterpoint(
      ...['record', '-q', '-g', '-F', '2000', '-e', 'cpu-clock', '-o', data, '--', node, script, truth],
    );
    assert.equal(recorded.status, 0, recorded.err);
    const times: Record<string, number> = JSON.parse(readFileSync(truth, 'utf8'));

    const { events } = JSON.parse((await counterpoint('report', '--json', '-i', data)).out);
    const rows: Row[] = events[0].rows;
    const withCallees = (name: string) =>
      rows.find(({ symbol }) => symbol.startsWith(`JS:${name} ${script}`))?.percent ?? 0;
    const found = Object.fromEntries(Object.keys(times).map((name) => [name, withCallees(name)]));
    const sum = Object.values(found).reduce((all, one) => all + one, 0);
    const whole = Object.values(times).reduce((all, one) => all + one, 0);
    for (const [name, time] of Object.entries(times))
      assert.ok(
        Math.abs(found[name]! / sum - time / whole) < 0.05,
        `${name}: ${JSON.stringify({ found, sum, times, whole, rows: rows.slice(0, 12) })}`,
      );

    const shares = new Map(
      events[0].javascript.map((share: { category: string }) => [share.category, share]),
    );
    for (const category of ['javascript', 'gc', 'regexp', 'native', 'kernel', 'compile'])
      assert.ok(shares.has(category), `${category}: ${[...shares.keys()]}`);
    // The first rows are the program's own.
    assert.ok(
      rows.slice(0, 3).every(({ file }) => file !== undefined),
      JSON.stringify(rows.slice(0, 3)),
    );

    const text = (await counterpoint('report', '-i', data)).out;
    assert.match(text, /^# Programs in JavaScript: .*GC \d/m);
    assert.match(text, new RegExp(`^ +\\d+\\.\\d+% +\\d+\\.\\d+%  \\w+ ${script}:\\d+:\\d+$`, 'm'));
    const recordedStacks = (await counterpoint('report', '--no-js', '--no-children', '-i', data)).out;
    assert.match(recordedStacks, /Shared Object +Symbol/);
    assert.match(recordedStacks, /\[\.\] deflate/);
    const folded = (await counterpoint('export', '--js=categories', '-f', 'folded', '-o', '-', '-i', data))
      .out;
    const ofMatches = folded
      .split('\n')
      .filter((line) => line.includes(';JS:matches '))
      .join('\n');
    assert.match(folded, /;JS:allocates .*;\(GC: scavenge\) \d/);
    assert.match(ofMatches, /;\(regexp \/\(x\+x\+\)\+y\/\) \d/);

    const { nodes } = JSON.parse(
      (await counterpoint('export', '-f', 'cpuprofile', '-o', '-', '-i', data)).out,
    );
    const names = { cwd: folder, timeout: 60_000 };
    execFileSync(node, ['--cpu-prof', '--cpu-prof-name', 'own.cpuprofile', script, truth], names);
    const own: CpuProfile = JSON.parse(readFileSync(join(folder, 'own.cpuprofile'), 'utf8'));
    for (const name of ['computes', 'allocates', 'matches', 'processChunkSync'])
      assert.deepEqual(placeOf(nodes, name), placeOf(own.nodes, name));
    assert.notEqual(placeOf(nodes, 'computes'), null);
  });

test('--js of a program without JavaScript says that it changes nothing', async () => {
  const data = join(folder, 'sh.data');
  const recorded = await counterpoint(
    ...[
      'record',
      '-q',
      '-g',
      '-e',
      'cpu-clock',
      '-F',
      '10000',
      '-o',
      data,
      '--',
      'sh',
      '-c',
      'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done',
    ],
  );
  assert.equal(recorded.status, 0, recorded.err);
  const asked = await counterpoint('report', '--js', '-i', data);
  assert.equal(asked.status, 0);
  assert.match(asked.err, /no process of the recording has functions of JavaScript/);
  assert.equal(asked.out, (await counterpoint('report', '-i', data)).out);
});
