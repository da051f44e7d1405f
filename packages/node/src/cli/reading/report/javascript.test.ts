/** What a Node developer sees: whose the time is, beside what the program measured of itself. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { NAME_NOT_CERTAIN } from '@counterpoint/core/jit';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { nodePrograms } from '../../../test/node-versions.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-javascript-'));
// glibc gives memory back by calls of functions without frame pointers: whose time that is, no chain tells.
// Where such calls are dear (21 % in a guest of PVM), a function that allocates natively would lack it.
process.env['MALLOC_TRIM_THRESHOLD_'] = '100000000';
process.env['MALLOC_TOP_PAD_'] = '1000000';
process.env['MALLOC_MMAP_THRESHOLD_'] = '33554432';
after(() => rmSync(folder, { recursive: true }));

/**
 * Functions that let others work for them, and the CPU time of each on the main thread.
 * To ask for it takes time, too.
 */
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
function reads() { let n = 0; for (let i = 0; i < 200; i++) n += readSync(zeros, text); return n; }
const own = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'latin1').split(' ')[0]);
const times = {};
for (const work of [computes, allocates, matches, compresses, reads]) {
  let spent = 0;
  while (spent < 250e6) {
    const start = own();
    work();
    spent += own() - start;
  }
  times[work.name] = spent;
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

/**
 * Each function has its share of the time. What nobody can tell is not certain, and says so: how much that
 * is, is a matter of how soon the recorder gets to look at code that has replaced other code.
 */
function checkTimes(times: Record<string, number>, rows: readonly Row[], script: string): void {
  const percentOf = (start: string) => rows.find(({ symbol }) => symbol.startsWith(start))?.percent ?? 0;
  const found = new Map(Object.keys(times).map((name) => [name, percentOf(`JS:${name} ${script}`)]));
  const uncertain = percentOf(NAME_NOT_CERTAIN);
  const sum = [...found.values()].reduce((all, one) => all + one, uncertain);
  const whole = Object.values(times).reduce((all, one) => all + one, 0);
  const seen = JSON.stringify({ found: [...found], uncertain, times, rows: rows.slice(0, 12) });
  for (const [name, time] of Object.entries(times)) {
    const missing = time / whole - found.get(name)! / sum;
    assert.ok(missing > -0.05, `${name} has the time of others: ${seen}`);
    assert.ok(missing < 0.05 + uncertain / sum, `others have the time of ${name}: ${seen}`);
    assertOnTime(missing < 0.05, `${name}: ${seen}`);
  }
}

for (const node of nodePrograms)
  test(`time counts for the function that caused it: ${node}`, async () => {
    const script = join(folder, 'app.js');
    const [data, truth] = [join(folder, 'app.data'), join(folder, 'truth.json')];
    writeFileSync(script, PROGRAM);
    const categories = await onTime(async () => {
      const words = ['record', '-q', '-g', '-F', '2000', '-e', 'cpu-clock', '-o', data];
      const recorded = await counterpoint(...words, '--', node, script, truth);
      assert.equal(recorded.status, 0, recorded.err);
      const times: Record<string, number> = JSON.parse(readFileSync(truth, 'utf8'));
      const { events } = JSON.parse((await counterpoint('report', '--json', '-i', data)).out);
      checkTimes(times, events[0].rows, script);
      return events[0].javascript as { category: string }[];
    });
    const rows: Row[] = JSON.parse((await counterpoint('report', '--json', '-i', data)).out).events[0].rows;
    const shares = new Map(categories.map((share) => [share.category, share]));
    for (const category of ['javascript', 'gc', 'regexp', 'native', 'kernel', 'compile'])
      assert.ok(shares.has(category), `${category}: ${[...shares.keys()]}`);
    // The first rows are the program's own, beside what nobody can tell.
    const certain = rows.filter(({ symbol }) => symbol !== NAME_NOT_CERTAIN);
    assert.ok(
      certain.slice(0, 3).every(({ file }) => file !== undefined),
      JSON.stringify(rows.slice(0, 4)),
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

/**
 * A handler that lets Node work for it: the password is hashed by a function of
 * node:crypto, and of a package.
 */
const SERVER = `'use strict';
const { pbkdf2Sync } = require('node:crypto');
const { EventEmitter } = require('node:events');
const { digest } = require('digest');
const server = new EventEmitter();
function slowRoute() { return pbkdf2Sync('secret', 'salt', 3000, 32, 'sha256'); }
function otherRoute() { return digest(); }
server.on('request', function route(path) { return path === '/slow' ? slowRoute() : otherRoute(); });
for (const end = process.cpuUsage().user + 16e5; process.cpuUsage().user < end;) {
  for (let i = 0; i < 3; i++) server.emit('request', '/slow');
  server.emit('request', '/other');
}
`;
const PACKAGE = `'use strict';
const { pbkdf2Sync } = require('node:crypto');
exports.digest = function digest() { return pbkdf2Sync('secret', 'salt', 3000, 32, 'sha256'); };
`;

test('the program comes first: what Node did for a function counts for it', async () => {
  const script = join(folder, 'server.js');
  const data = join(folder, 'server.data');
  writeFileSync(script, SERVER);
  mkdirSync(join(folder, 'node_modules', 'digest'), { recursive: true });
  writeFileSync(join(folder, 'node_modules', 'digest', 'index.js'), PACKAGE);
  const options = ['-q', '-g', '-F', '1000', '-e', 'cpu-clock', '-o', data];
  const recorded = await counterpoint('record', ...options, '--', process.execPath, script);
  assert.equal(recorded.status, 0, recorded.err);
  const report = async (...more: string[]) => (await counterpoint('report', '-i', data, ...more)).out;
  const rowsOf = (text: string) =>
    [...text.matchAll(/^ +([\d.]+)% +([\d.]+)% {2}(\S+) (\S+:\d+:\d+)$/gm)].map(
      ([, first, second, name, place]) => ({
        first: Number(first),
        second: Number(second),
        name,
        place: place!,
      }),
    );

  const text = await report();
  assert.match(text, /^# Self +Children +Function$/m);
  assert.match(text, /^# What Node, V8 and the kernel did counts for the function/m);
  const rows = rowsOf(text);
  assert.deepEqual(
    rows.slice(0, 2).map(({ name }) => name),
    ['slowRoute', 'digest'],
  );
  assert.ok(rows[0]!.first > 40 && rows[0]!.first < 80, text);
  // The first column is the one that rows are sorted by, and Node's own functions come last.
  const isNode = rows.map(({ place }) => place.startsWith('node:'));
  const firstOfNode = isNode.indexOf(true);
  assert.ok(firstOfNode > 0 && isNode.slice(firstOfNode).every(Boolean), text);
  const shares = rows.slice(0, firstOfNode).map(({ first }) => first);
  assert.deepEqual(
    shares,
    shares.slice().sort((a, b) => b - a),
  );

  assert.equal(rowsOf(await report('--no-fold'))[0]!.name, 'pbkdf2Sync');
  const folded = rowsOf(await report('--fold', 'node_modules'));
  assert.deepEqual(
    folded.slice(0, 2).map(({ name }) => name),
    ['slowRoute', 'otherRoute'],
  );
  assert.deepEqual(rowsOf(await report('--fold', 'digest')), folded);
  const misspelt = await counterpoint('report', '-i', data, '--fold', 'digests');
  assert.match(misspelt.err, /Note: no function of a package or folder digests .*did you mean digest\?/);
  assert.deepEqual(rowsOf(misspelt.out), rows);
  const refused = await counterpoint('report', '-i', data, '--no-js', '--fold', 'node_modules');
  assert.equal(refused.status, 129);

  const callers = await report('--tree=callers', '--limit', '1');
  const roots = callers.split('\n').filter((line) => /^ +[\d.]+% +[^ ↑├└│]/.test(line));
  assert.deepEqual(
    roots.map((line) => line.trim().split(/ +/)[1]),
    ['slowRoute'],
  );
  assert.match(callers, /↑ route /);

  // Names of C++ that are hundreds of letters long do not widen the rows of the others.
  const lengths = (await report('--no-js', '--sort', 'symbol,tier'))
    .split('\n')
    .filter((line) => /^ +[\d.]+%/.test(line))
    .map(({ length }) => length);
  const long = lengths.filter((length) => length > 140).length;
  assert.ok(long > 0 && long < lengths.length / 4, `${long} of ${lengths.length}`);
});

test('where the Node of the recording is not there, what it did has no name, and is not called native', async (t) => {
  // perf may have kept a copy of this Node.
  const { PERF_BUILDID_DIR: kept } = process.env;
  process.env['PERF_BUILDID_DIR'] = join(folder, 'no-copies');
  t.after(() => {
    if (kept === undefined) delete process.env['PERF_BUILDID_DIR'];
    else process.env['PERF_BUILDID_DIR'] = kept;
  });
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  const data = join(folder, 'gone.data');
  const collects = 'const kept = []; for (let i = 0; i < 3e6; i++) kept[i % 1e5] = { i, next: [i] };';
  const words = [
    'record',
    '-q',
    '-N',
    '-g',
    '-e',
    'cpu-clock',
    '-F',
    '2000',
    '-o',
    data,
    '--',
    node,
    '-e',
    collects,
  ];
  const recorded = await counterpoint(...words);
  assert.equal(recorded.status, 0, recorded.err);
  const categories = async () => {
    const { events } = JSON.parse((await counterpoint('report', '--json', '-i', data)).out);
    const shares: { category: string; percent: number }[] = events[0].javascript;
    return new Map(shares.map(({ category, percent }) => [category, percent]));
  };
  const withNames = await categories();
  assert.ok((withNames.get('gc') ?? 0) > 10 && !withNames.has('nameless'), JSON.stringify([...withNames]));
  rmSync(node);
  const without = await categories();
  assert.ok((without.get('nameless') ?? 0) > 10 && !without.has('gc'), JSON.stringify([...without]));
  assert.ok((without.get('native') ?? 0) < 10, JSON.stringify([...without]));
  const { out } = await counterpoint('report', '-i', data);
  assert.match(out, /^# Programs in JavaScript: .*code without names \d/m);
  assert.match(
    out,
    /^# Code without names: no names are known of node, so its GC, .* cannot be told apart$/m,
  );
  assert.match(out, /--symfs DIR/);
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
