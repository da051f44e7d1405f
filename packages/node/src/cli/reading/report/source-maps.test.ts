/** Functions and lines of programs that a compiler made, as their sources have them. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type BuildOptions, build } from 'esbuild';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { nodePrograms } from '../../../test/node-versions.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-maps-'));
after(() => rmSync(folder, { recursive: true }));

/** Types and comments that are gone when it runs, so that no line stays where it was. The hot line is 19. */
const PROGRAM = `interface Options {
  rounds: number;
  seed: number;
}

/** What it is for. */
type Mixer = (
  a: number,
  b: number,
) => number;

enum Colour {
  Red,
  Green,
}

function mixNumbers(a: number, b: number): number {
  let x = a | 0;
  for (let i = 1; i < 60; i++) x = (x % ((b + i) | 1) + i * 7919) | 0;
  return x;
}

class Machine {
  readonly options: Options;
  colour: Colour = Colour.Green;

  constructor(options: Options) {
    this.options = options;
  }

  turn(mix: Mixer): number {
    let total = 0;
    for (let k = 0; k < this.options.rounds; k++) {
      total ^= mix(total, k + this.options.seed);
    }
    return total;
  }
}

/** It has no name of its own, and compilers may hide that of its variable. */
const spread = (value: number): number => {
  let wide = value;
  for (let i = 0; i < 20_000; i++) wide = (wide * 31 + i) | 0;
  return wide;
};

const cpuUs = () => process.cpuUsage().user;
const end = cpuUs() + 1_200_000;
let result = 0;
const machine = new Machine({ rounds: 1000, seed: 3 });
while (cpuUs() < end) result ^= spread(machine.turn(mixNumbers));
if (result === 0.5) console.log('never');
`;
const source = join(folder, 'src', 'main.ts');
mkdirSync(join(folder, 'src'));
writeFileSync(source, PROGRAM);

interface Row {
  selfPercent: number;
  symbol?: string;
  srcline?: string;
}

interface Answer {
  events: { rows: Row[] }[];
  sourceMaps: { scripts: number; mapped: number; faults: { script: string; map: string; reason: string }[] };
  diagnostics: { code: string; detail: string }[];
}

async function record(...command: string[]): Promise<string> {
  const data = join(folder, 'maps.data');
  const words = ['-q', '-g', '-F', '1000', '-e', 'cpu-clock:u', '-o', data, '--', ...command];
  const recorded = await counterpoint('record', ...words);
  assert.equal(recorded.status, 0, recorded.err);
  return data;
}

async function report(data: string, ...words: string[]): Promise<Answer> {
  return JSON.parse((await counterpoint('report', '--no-children', '--json', '-i', data, ...words)).out);
}

function hottest({ events }: Answer): Row {
  return events[0]!.rows.reduce((a, b) => (a.selfPercent > b.selfPercent ? a : b));
}

/** The recording of a program whose functions and lines are those of the source. */
async function assertShown(...command: string[]): Promise<string> {
  let data = '';
  await onTime(async () => {
    data = await record(...command);
    const lines = await report(data, '--sort', 'srcline');
    const srcline = hottest(lines).srcline ?? '';
    // Code that was made while nobody could look has no lines.
    assertOnTime(!srcline.endsWith('(function)'), srcline);
    assert.equal(srcline, `${source}:19`, JSON.stringify(lines));
    assert.ok(lines.sourceMaps.mapped >= 1);
    const functions = await report(data, '--children');
    const names = functions.events[0]!.rows.map(({ symbol }) => symbol?.replace(/:\d+$/, ''));
    assert.ok(hottest(functions).symbol?.startsWith(`JS:mixNumbers ${source}:17:`), names.join('\n'));
    assert.ok(names.includes(`JS:turn ${source}:31`), names.join('\n'));
    assert.ok(names.includes(`JS:spread ${source}:41`), names.join('\n'));
  });
  return data;
}

async function bundle(name: string, options: BuildOptions): Promise<string> {
  const outfile = join(folder, name);
  await build({ entryPoints: [source], outfile, bundle: true, platform: 'node', ...options });
  return outfile;
}

for (const node of nodePrograms)
  test(`of a program that tsx compiles when it is loaded, functions and lines are those of the .ts file: ${node}`, async () => {
    const data = await assertShown(node, '--import', import.meta.resolve('tsx'), source);
    const { srcline } = hottest(await report(data, '--sort', 'srcline', '--no-source-maps'));
    assert.notEqual(srcline, `${source}:19`);
    const { out } = await counterpoint('script', '-i', data);
    assert.match(out, new RegExp(`turn ${source}:31:`));
    const exported = (await counterpoint('export', '-f', 'cpuprofile', '-o', '-', '-i', data)).out;
    const nodes: { callFrame: { functionName: string; url: string }; positionTicks?: { line: number }[] }[] =
      JSON.parse(exported).nodes;
    const mixed = nodes.filter(({ callFrame }) => callFrame.functionName === 'mixNumbers');
    assert.ok(mixed.some(({ positionTicks = [] }) => positionTicks.some(({ line }) => line === 19)));
    assert.ok(mixed.every(({ callFrame }) => callFrame.url === `file://${source}`));
  });

test('of bundles the map is beside the file, in it, or where its comment says; minified names are those of the source', async () => {
  await assertShown(process.execPath, await bundle('plain.js', { sourcemap: true }));
  for (const sourcemap of ['inline', 'external'] as const)
    await assertShown(process.execPath, await bundle(`${sourcemap}.js`, { minify: true, sourcemap }));
});

test('sources that webpack names without a path are found above the bundle', async () => {
  mkdirSync(join(folder, 'dist'), { recursive: true });
  const script = await bundle(join('dist', 'packed.js'), { sourcemap: true });
  const map = readFileSync(`${script}.map`, 'utf8').replace(
    '"../src/main.ts"',
    '"webpack://shop/./src/main.ts"',
  );
  writeFileSync(`${script}.map`, map);
  await assertShown(process.execPath, script);
});

test('without a map that can be used, the code is shown as it ran, and a note and the answer say why', async () => {
  const script = await bundle('lost.js', { minify: true, sourcemap: true });
  const data = await record(process.execPath, script);
  const check = async (reason: string) => {
    const answer = await report(data, '--sort', 'srcline');
    const shown = JSON.stringify(answer);
    assert.ok(hottest(answer).srcline?.startsWith(`${script} (generated):1`), shown);
    assert.deepEqual(answer.sourceMaps.faults, [{ script, map: `${script}.map`, reason }]);
    const { err } = await counterpoint('report', '-i', data);
    assert.match(err, new RegExp(`the source map of ${script} could not be used as a whole \\(${reason}\\)`));
  };
  writeFileSync(`${script}.map`, '<html>');
  await check('not JSON');
  writeFileSync(`${script}.map`, '{"version":3,"sources":["../src/main.ts"],"names":[],"mappings":"*"}');
  await check('nothing is known from line 1 on');
  rmSync(`${script}.map`);
  await check('the map is not there');
  // A script without a word of a map: its long line says what it is.
  const code = readFileSync(script, 'utf8').replace(/\/\/# sourceMappingURL=.*/, '');
  writeFileSync(
    script,
    code.replace(/^.*/, (line) => `${line} /*${'x'.repeat(500)}*/`),
  );
  const functions = await report(data);
  assert.ok(hottest(functions).symbol?.includes(` ${script} (generated):1:`), JSON.stringify(functions));
  const text = await counterpoint('script', '-i', data);
  assert.match(text.out, new RegExp(`^\\t.* ${script} \\(generated\\):1:\\d+`, 'm'));
  const { out } = await counterpoint('export', '-f', 'cpuprofile', '-o', '-', '-i', data);
  assert.ok(out.includes(`${script}%20(generated)`), out.slice(0, 1000));
});

test('code that a loader made of a file, without a map, is marked as such; what Node makes of types is not', async () => {
  const script = join(folder, 'loaded.js');
  writeFileSync(script, busyProgram('loaded'));
  const loader = join(folder, 'loader.cjs');
  writeFileSync(
    loader,
    `const { readFileSync } = require('node:fs');
     require('node:module')._extensions['.js'] = (module, path) =>
       module._compile('// made\\n\\n' + readFileSync(path, 'utf8'), path);`,
  );
  await onTime(async () => {
    const answer = await report(await record(process.execPath, '-r', loader, script));
    const { symbol = '' } = hottest(answer);
    assertOnTime(symbol.includes(` ${script} (generated):3:`), symbol);
    assert.match(JSON.stringify(answer.sourceMaps), /its code was made when it was loaded/);
  });
  const { symbol } = hottest(await report(await record(process.execPath, script)));
  assert.ok(symbol?.includes(` ${script}:1:`), symbol);
});

const busyProgram = (name: string) =>
  `function ${name}(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
const end = process.cpuUsage().user + 900_000;
while (process.cpuUsage().user < end) ${name}(20000);
`;

test('a map that leads to a file with a map of its own is followed; a circle is not', async () => {
  const compiled = await bundle('step.js', { sourcemap: true });
  const script = join(folder, 'copy.js');
  const text = readFileSync(compiled, 'utf8').replace(/\/\/# sourceMappingURL=.*/, '');
  const mappings = identityMappings(text.split('\n'));
  const mapTo = (path: string, name: string) =>
    writeFileSync(`${path}.map`, JSON.stringify({ version: 3, sources: [name], names: [], mappings }));
  writeFileSync(script, text);
  mapTo(script, 'step.js');
  const data = await assertShown(process.execPath, script);
  mapTo(compiled, 'copy.js');
  const answer = await report(data, '--sort', 'srcline');
  assert.ok(hottest(answer).srcline?.startsWith(script), JSON.stringify(answer));
  assert.equal(answer.sourceMaps.faults[0]?.reason, 'maps that lead to each other in a circle');
});

/** Of a file that is its own source: a segment for each column. */
function identityMappings(lines: readonly string[]): string {
  let before = 0;
  return lines
    .map((text, row) => {
      const first = `AA${row === 0 ? 'A' : 'C'}${signed(-before)}`;
      before = Math.max(0, text.length - 1);
      return [first, ...Array.from({ length: before }, () => 'CAAC')].join();
    })
    .join(';');
}

/** A number as a source map writes it. */
function signed(value: number): string {
  let rest = value < 0 ? -value * 2 + 1 : value * 2;
  let text = '';
  do {
    const digit = rest % 32;
    rest = Math.floor(rest / 32);
    text += DIGITS[digit + (rest > 0 ? 32 : 0)];
  } while (rest > 0);
  return text;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
