/**
 * Lines and inlined functions of programs, on recordings of perf: as perf tells them, and the same from
 * wherever their debug information is.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-native-'));
after(() => rmSync(folder, { recursive: true }));
const SOURCE = fileURLToPath(new URL('../../../../../../fixtures/dwarf/inlines.cpp', import.meta.url));
const has = (tool: string): boolean => spawnSync(tool, ['--version']).status === 0;
const skip = perfIsMissing() || (has('g++') && has('objcopy') ? false : 'g++ and objcopy are not here');
const program = join(folder, 'program');

function run(tool: string, ...words: string[]): void {
  const { status, stderr } = spawnSync(tool, words, { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, `${tool} ${words.join(' ')}: ${stderr}`);
}

const compile = (...flags: string[]) =>
  run('g++', '-std=c++17', '-O2', ...flags, 'inlines.cpp', '-o', program);

/** Records the program; perf keeps no copy of it. */
function record(name: string, ...options: string[]): string {
  const path = join(folder, name);
  perf('record', '-q', '-N', '-e', 'cpu-clock:u', '-F', '997', ...options, '-o', path, '--', program, '12');
  return path;
}

interface Frame {
  address: string;
  name: string;
  isInlined: boolean;
  line: string;
}

/** The frames of each sample, with their lines, as `script` prints them. */
function framesOf(text: string): Frame[][] {
  const samples: Frame[][] = [];
  for (const line of text.split('\n')) {
    const frame = /^\t *([0-9a-f]+) (.*)$/.exec(line);
    if (frame !== null) {
      const name = frame[2]!.replace(/ \(\/.*\)$| \(inlined\)$/, '').replace(/\+0x[0-9a-f]+$/, '');
      samples.at(-1)!.push({ address: frame[1]!, name, isInlined: line.endsWith(' (inlined)'), line: '' });
    } else if (line.startsWith('  ')) {
      const last = samples.at(-1)!.at(-1)!;
      // Of code without lines perf prints `??:0` in some chains, `program[1060]` for stubs, and else nothing.
      last.line = line.trim().replace(/ \(inlined\)$|^\?\?:0$|^\S+\[[0-9a-f]+\]$/, '');
      if (line.endsWith(' (inlined)')) last.isInlined = true;
    } else if (line !== '') samples.push([]);
  }
  return samples;
}

/**
 * Those that main called. What runs before and behind it is of libraries, whose files perf's helper mistakes.
 */
const ofProgram = (frames: Frame[]) =>
  frames.slice(
    0,
    Math.max(
      0,
      frames.findIndex(({ name }) => name === 'main'),
    ),
  );

test('script: lines and inlined functions are those of perf', { skip }, async () => {
  copyFileSync(SOURCE, join(folder, 'inlines.cpp'));
  compile('-g');
  const data = record('chains.data', '--call-graph', 'dwarf,8192');
  const { out, status, err } = await counterpoint('script', '-i', data, '-F', '+srcline');
  assert.equal(status, 0, err);
  const ours = framesOf(out).map(ofProgram);
  const theirs = framesOf(perf('script', '-i', data, '-F', '+srcline')).map(ofProgram);
  assert.equal(ours.length, theirs.length);
  let inlined = 0;
  let same = 0;
  const differing: string[] = [];
  ours.forEach((mine, sample) => {
    const other = theirs[sample]!;
    const places = (frames: Frame[]) => frames.map(({ address, line }) => `${address} ${line}`).join('\n');
    if (places(mine) === places(other)) same++;
    else differing.push(`${places(mine)}\nperf:\n${places(other)}`);
    mine.forEach(({ address, name, isInlined }, at) => {
      if (!isInlined) return;
      inlined++;
      // perf's helper names the innermost one by the symbol of the whole code.
      const isInnermost = mine[at - 1]?.address !== address;
      if (!isInnermost && places(mine) === places(other)) assert.equal(name, other[at]!.name);
    });
  });
  assert.ok(inlined > 20, `${inlined} inlined frames in ${ours.length} samples`);
  // Lines of the first instruction of some functions perf's helper takes for the unit's first file.
  assert.ok(same >= ours.length * 0.97, `${same} of ${ours.length}: ${differing.slice(0, 2).join('\n')}`);
  const without = await counterpoint('script', '-i', data, '--no-inline');
  assert.doesNotMatch(without.out, /inlined/);
  const sums = (text: string) => text.split('\n').filter((line) => line.endsWith('(inlined)')).length;
  assert.ok(sums(out) > 20);
});

/** Percent by line, of what perf's table and ours have in their last column. */
function rowsOf(text: string): Map<string, number> {
  const rows = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, percent, place] = /^ +([\d.]+)% +(\S+:\d+)$/.exec(line) ?? [];
    if (place !== undefined && place !== '??:0') rows.set(place, (rows.get(place) ?? 0) + Number(percent));
  }
  return rows;
}

test('report --sort srcline and srcfile: shares as perf has them', { skip }, async () => {
  copyFileSync(SOURCE, join(folder, 'inlines.cpp'));
  compile('-g');
  const data = record('flat.data');
  const ours = rowsOf((await counterpoint('report', '-i', data, '--sort', 'srcline')).out);
  const theirs = rowsOf(perf('report', '--stdio', '-i', data, '--sort', 'srcline'));
  assert.ok(ours.size > 10);
  // Of the loader's start perf 6.1 (and addr2line 2.40) name a file that has no such line:
  // dl-get-cpu-features.c:321 for dl-cacheinfo.h:321. Where cpuid is dear, a sample may fall there.
  for (const [place, percent] of [...ours].filter(([name]) => !name.startsWith('dl-')))
    assert.ok(
      Math.abs((theirs.get(place) ?? 0) - percent) < 0.02,
      `${place}: ${percent}, ${theirs.get(place)}`,
    );
  const { out } = await counterpoint('report', '-i', data, '--sort', 'srcfile');
  assert.match(out, /^# Overhead +Source File$/m);
  assert.match(out, /^ +[\d.]+% +inlines\.cpp$/m);
  const whole = await counterpoint('report', '-i', data, '--sort', 'srcline', '--full-source-path');
  assert.ok(whole.out.includes(` ${join(folder, 'inlines.cpp')}:`));
  // Of the whole machine's time, the hottest line is one of the program.
  const json = JSON.parse((await counterpoint('report', '-i', data, '--sort', 'srcline', '--json')).out);
  const { source, srcline } = json.events[0].rows[0];
  assert.equal(srcline, `${source.file}:${source.line}`);
  assert.ok(source.file.startsWith('/'));
  // In flat rows, functions that were inlined have their own time where that is asked for.
  const functions = await counterpoint('report', '-i', data, '--inline', '--sort', 'symbol');
  assert.match(functions.out, /\[\.\] mix \(inlined\)/);
  const one = await counterpoint('report', '-i', data, '--inline', '--sort', 'symbol', '--symbols', 'mix');
  assert.match(one.out, /\[\.\] mix \(inlined\)/);
  const asRecorded = await counterpoint('report', '-i', data, '--sort', 'symbol');
  assert.doesNotMatch(asRecorded.out, /inlined/);
});

/** Time by line, of the same recording. */
async function linesNow(
  data: string,
  environment: Record<string, string> = {},
): Promise<{ rows: string; err: string }> {
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    const words = ['report', '-i', data, '--inline', '--sort', 'symbol,srcline', '--dsos', 'program'];
    const { out, err } = await counterpoint(...words);
    return {
      rows: out
        .split('\n')
        .filter((line) => line.includes('%'))
        .join('\n'),
      err,
    };
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

test('debug files: beside the binary, by build id, from a server; none is said', { skip }, async () => {
  copyFileSync(SOURCE, join(folder, 'inlines.cpp'));
  compile('-g', '-Wl,--build-id');
  const data = record('stripped.data', '--call-graph', 'dwarf,8192');
  const { rows } = await linesNow(data);
  assert.match(rows, /mix \(inlined\) +inlines\.cpp:\d+/);
  const buildId = /Build ID: (\w+)/.exec(
    spawnSync('readelf', ['-n', program], { encoding: 'utf8' }).stdout,
  )![1]!;
  run('objcopy', '--only-keep-debug', program, 'program.debug');
  run('strip', program);
  const cache = { PERF_BUILDID_DIR: join(folder, 'cache'), DEBUGINFOD_CACHE_PATH: join(folder, 'downloads') };
  const nothing = await linesNow(data, cache);
  assert.doesNotMatch(nothing.rows, /inlines\.cpp/);
  assert.match(nothing.err, /program.*: the binary is stripped/);

  const debug = readFileSync(join(folder, 'program.debug'));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    if (request.url !== `/buildid/${buildId}/debuginfo`) response.statusCode = 404;
    response.end(request.url === `/buildid/${buildId}/debuginfo` ? debug : '');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const served = await linesNow(data, { ...cache, DEBUGINFOD_URLS: url });
    assert.equal(served.rows, rows);
    assert.ok(asked.includes(`/buildid/${buildId}/debuginfo`));
  } finally {
    await new Promise((closed) => server.close(closed));
  }
  const place = join(folder, 'cache/.build-id', buildId.slice(0, 2), buildId.slice(2));
  mkdirSync(place, { recursive: true });
  copyFileSync(join(folder, 'program.debug'), join(place, 'debug'));
  assert.equal((await linesNow(data, { PERF_BUILDID_DIR: cache.PERF_BUILDID_DIR })).rows, rows);
  run('objcopy', '--add-gnu-debuglink=program.debug', program);
  assert.equal((await linesNow(data, { PERF_BUILDID_DIR: join(folder, 'nowhere') })).rows, rows);
});

test('debug information that is split off, and what is said without it', { skip }, async () => {
  copyFileSync(SOURCE, join(folder, 'inlines.cpp'));
  for (const version of [4, 5]) {
    compile(`-gdwarf-${version}`);
    const data = record('split.data', '--call-graph', 'dwarf,8192');
    const { rows } = await linesNow(data);
    assert.match(rows, /mix \(inlined\) +inlines\.cpp:\d+/);
    // The code is the same; without build id, nothing else tells it from the recorded one.
    compile(`-gdwarf-${version}`, '-gsplit-dwarf');
    const split = record('split.data', '--call-graph', 'dwarf,8192');
    const own = await linesNow(split);
    assert.match(own.rows, /mix \(inlined\) +inlines\.cpp:\d+/);
    assert.match(own.rows, /twice \(inlined\) +inlines\.cpp:\d+/);
    const packer = version === 4 ? 'dwp' : 'llvm-dwp';
    if (has(packer)) {
      run(packer, '-e', 'program', '-o', 'program.dwp');
      renameSync(join(folder, 'program-inlines.dwo'), join(folder, 'away.dwo'));
      assert.equal((await linesNow(split)).rows, own.rows);
      rmSync(join(folder, 'program.dwp'));
    } else renameSync(join(folder, 'program-inlines.dwo'), join(folder, 'away.dwo'));
    const without = await linesNow(split);
    assert.match(without.err, /program-inlines\.dwo is not there/);
    assert.doesNotMatch(without.rows, /inlined/);
    assert.match(without.rows, /inlines\.cpp:\d+/);
  }
});

test('what dwz moved to a shared file', {
  skip: skip || (has('dwz') ? false : 'dwz is not here'),
}, async () => {
  copyFileSync(SOURCE, join(folder, 'inlines.cpp'));
  compile('-gdwarf-4', '-Wl,--build-id');
  const data = record('shared.data', '--call-graph', 'dwarf,8192');
  const { rows } = await linesNow(data);
  copyFileSync(program, join(folder, 'twin'));
  run('dwz', '-m', 'shared.dbg', 'program', 'twin');
  assert.equal((await linesNow(data)).rows, rows);
  renameSync(join(folder, 'shared.dbg'), join(folder, 'away.dbg'));
  const without = await linesNow(data);
  assert.match(without.err, /there is no shared\.dbg/);
  assert.match(without.rows, /inlines\.cpp:\d+/);
});

test('exports have the inlined functions', { skip }, async () => {
  copyFileSync(SOURCE, join(folder, 'inlines.cpp'));
  compile('-g');
  const data = record('exported.data', '--call-graph', 'dwarf,8192');
  for (const format of ['folded', 'speedscope', 'firefox', 'svg']) {
    const { out } = await counterpoint('export', '-f', format, '-o', '-', '-i', data);
    assert.match(out, /\btwice\b/, format);
    const without = await counterpoint('export', '-f', format, '-o', '-', '-i', data, '--no-inline');
    assert.doesNotMatch(without.out, /\btwice\b/, format);
  }
  const { out } = await counterpoint('export', '-f', 'folded', '-o', '-', '-i', data);
  assert.match(out, /main;work::ring;twice;mix \d+/);
  const path = join(folder, 'exported.pb');
  await counterpoint('export', '-f', 'pprof', '-o', path, '-i', data);
  const bytes = readFileSync(path);
  const pprof = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('latin1');
  assert.match(pprof, /twice/);
  assert.doesNotMatch(pprof, /inlined/);
  const source = join(folder, 'inlines.cpp');
  assert.ok(pprof.includes(source));
  const speedscope = JSON.parse(
    (await counterpoint('export', '-f', 'speedscope', '-o', '-', '-i', data)).out,
  );
  const shown = speedscope.shared.frames.find(({ name }: { name: string }) => name === 'twice (inlined)');
  assert.equal(shown.file, source);
  const firefox = JSON.parse((await counterpoint('export', '-f', 'firefox', '-o', '-', '-i', data)).out);
  const { frameTable, funcTable, sources, stringArray } = firefox.shared;
  const twice = frameTable.func.findIndex((func: number) => stringArray[funcTable.name[func]] === 'twice');
  const mix = frameTable.func.findIndex((func: number) => stringArray[funcTable.name[func]] === 'mix');
  assert.ok(frameTable.inlineDepth[mix] > frameTable.inlineDepth[twice]);
  assert.equal(stringArray[sources.filename[funcTable.source[frameTable.func[twice]]]], source);
  assert.ok(frameTable.line[twice] > 0 && funcTable.isJS[frameTable.func[twice]] === false);
  const cpuprofile = JSON.parse(
    (await counterpoint('export', '-f', 'cpuprofile', '-o', '-', '-i', data)).out,
  );
  const node = cpuprofile.nodes.find(({ callFrame }: { callFrame: { functionName: string } }) =>
    /^mix/.test(callFrame.functionName),
  );
  assert.equal(node.callFrame.url, `file://${source}`);
});
