/** Binaries as a tool chain makes and distributions split them, against the names that went in. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Diagnostic } from '../../base/index.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { TemporaryFolder } from '../../test/perf.ts';
import { type CodeSymbols, loadCodeSymbols } from './index.ts';

const missing = ['g++', 'objcopy', 'nm', 'strip', 'xz'].find(
  (tool) => spawnSync(tool, ['--version']).status !== 0,
);
const skip = missing === undefined ? false : `${missing} is not installed`;

const PROGRAM = `
#include <cstdio>
namespace shop {
template <typename T> struct Till { T sum = 0; __attribute__((noinline)) void add(T price) { sum += price; } };
static __attribute__((noinline)) long count(long n) { return n < 2 ? n : count(n - 1) + count(n - 2); }
}
extern "C" __attribute__((visibility("default"), noinline)) long exported(long n) { return shop::count(n) + 1; }
int main(int argc, char **) {
  shop::Till<double> till;
  till.add(argc);
  return printf("%ld %g\\n", exported(argc), till.sum) < 0;
}
`;

const folder = skip === false ? new TemporaryFolder() : null;
const at = (name: string) => `${folder!.path}/${name}`;
const nameOf = (line: string) => line.split(' ')[0]!;
const bytesOf = (name: string) => new Uint8Array(readFileSync(at(name)));

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: folder!.path });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

before(() => {
  if (skip !== false) return;
  folder!.file('shop.cc', new TextEncoder().encode(PROGRAM));
  run('g++', '-O1', '-g', '-rdynamic', '-Wl,--build-id', 'shop.cc', '-o', 'app');
  run('objcopy', '--only-keep-debug', 'app', 'app.debug');
  run('objcopy', '--strip-all', '--add-gnu-debuglink=app.debug', 'app', 'app.split');
  // MiniDebugInfo as Fedora makes it: the functions that are not in .dynsym, in an ELF file packed with XZ.
  const dynamic = new Set(run('nm', '-D', '--defined-only', '--format=posix', 'app').split('\n').map(nameOf));
  const functions = run('nm', '--defined-only', '--format=posix', 'app')
    .split('\n')
    .filter((line) => / [TtW] /.test(line));
  const kept = functions.map(nameOf).filter((name) => !dynamic.has(name));
  folder!.file('keep', new TextEncoder().encode(kept.join('\n')));
  run('objcopy', '-S', '--remove-section=.comment', '--keep-symbols=keep', 'app.debug', 'app.mini');
  run('xz', 'app.mini');
  run('objcopy', '--strip-all', '--add-section', '.gnu_debugdata=app.mini.xz', 'app', 'app.fedora');
});

after(() => folder?.remove());

async function load(files: Record<string, string>): Promise<{ table: CodeSymbols; codes: string[] }> {
  const driver = new MemoryDriver();
  for (const [key, name] of Object.entries(files)) driver.files.set(key, bytesOf(name));
  const diagnostics: Diagnostic[] = [];
  const binary = { path: '/app', buildId: '', kind: 'user', pid: 1 } as const;
  const table = await loadCodeSymbols(binary, driver, diagnostics);
  assert.ok(table !== null, JSON.stringify(diagnostics));
  return { table, codes: diagnostics.map(({ code }) => code) };
}

/**
 * Name at each function's first byte, by nm's list of the unstripped binary; PIE, so
 * offsets of .text are addresses.
 */
function functionsOf(table: CodeSymbols): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of run('nm', '--defined-only', '--format=posix', 'app').split('\n')) {
    const [name, type, address] = line.split(' ');
    if (!/^[TtW]$/.test(type ?? '')) continue;
    const symbol = table.lookup(Number.parseInt(address!, 16));
    if (symbol !== -1) found.set(name!, table.name(symbol));
  }
  return found;
}

const EXPECTED = {
  _ZN4shopL5countEl: 'shop::count',
  _ZN4shop4TillIdE3addEd: 'shop::Till<double>::add',
  exported: 'exported',
  main: 'main',
};

for (const [what, files] of [
  ['unstripped', { 'binary /app': 'app' }],
  ['with a debug file', { 'binary /app': 'app.split', 'debug /app': 'app.debug' }],
  ['with .gnu_debugdata', { 'binary /app': 'app.fedora' }],
] as const) {
  test(`a C++ program, ${what}`, { skip }, async () => {
    const { table, codes } = await load(files);
    assert.deepEqual(codes, []);
    const functions = functionsOf(table);
    for (const [raw, name] of Object.entries(EXPECTED)) assert.equal(functions.get(raw), name);
    assert.ok([...Array(table.length).keys()].some((symbol) => table.name(symbol) === 'printf@plt'));
  });
}

test('a stripped C++ program has its exported names', { skip }, async () => {
  const { table, codes } = await load({ 'binary /app': 'app.split' });
  assert.deepEqual(codes, ['exported-only']);
  const functions = functionsOf(table);
  assert.equal(functions.get('exported'), 'exported');
  assert.notEqual(functions.get('_ZN4shopL5countEl'), 'shop::count');
});
