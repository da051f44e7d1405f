/**
 * Every symbol of real binaries, against c++filt. A sample by default, so that the test stays short; with
 * DEMANGLE_ORACLE=all every name of every binary found (a minute).
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { demangle } from './demangle.ts';

const SAMPLE = process.env.DEMANGLE_ORACLE === 'all' ? Number.POSITIVE_INFINITY : 2000;

const hasBinutils =
  spawnSync('c++filt', ['--version']).status === 0 && spawnSync('nm', ['--version']).status === 0;

/** Mangled names of a binary without version suffixes, evenly spread over the whole list. */
function mangledNames(path: string, tables: readonly string[]): string[] {
  const names = new Set<string>();
  for (const table of tables) {
    const { stdout } = spawnSync('nm', ['-j', table, path], { maxBuffer: 1 << 30, encoding: 'utf8' });
    for (const line of stdout.split('\n')) {
      const name = line.replace(/@.*/, '');
      if (/^_[ZR][A-Za-z0-9_$.]*$/.test(name)) names.add(name);
    }
  }
  const all = [...names].sort();
  const stride = Math.max(1, all.length / SAMPLE);
  return Array.from({ length: Math.floor(all.length / stride) }, (_, i) => all[Math.floor(i * stride)]!);
}

function filt(options: readonly string[], names: readonly string[]): string[] {
  const input = `${names.join('\n')}\n`;
  const { stdout, status } = spawnSync('c++filt', options, { input, maxBuffer: 1 << 30, encoding: 'utf8' });
  assert.equal(status, 0, 'c++filt ended normally');
  return stdout.split('\n').slice(0, -1);
}

/** Where c++filt gives up (newer grammar, data with a clone suffix) there is nothing to compare. */
function differences(names: readonly string[]): string[] {
  const wrong: string[] = [];
  for (const [options, style] of [
    [['-r', '-p', '-i'], {}],
    [['-r'], { parameters: true }],
  ] as const) {
    const expected = filt(options, names);
    assert.equal(expected.length, names.length);
    names.forEach((name, i) => {
      const readable = demangle(name, style);
      if (readable !== expected[i] && expected[i] !== name)
        wrong.push(`${name}\n  ${expected[i]}\n  ${readable}`);
    });
  }
  return wrong;
}

function firstExisting(paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}

function rustLibrary(prefix: string): string | undefined {
  const toolchains = join(homedir(), '.rustup', 'toolchains');
  if (!existsSync(toolchains)) return undefined;
  for (const toolchain of readdirSync(toolchains)) {
    const folder = join(toolchains, toolchain, 'lib');
    const file = existsSync(folder) ? readdirSync(folder).find((name) => name.startsWith(prefix)) : undefined;
    if (file !== undefined) return join(folder, file);
  }
  return undefined;
}

test('the symbols of this node and of libstdc++ read as c++filt reads them', (t) => {
  if (!hasBinutils) return t.skip('no binutils');
  const library = firstExisting(
    ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/libstdc++.so.6`),
  );
  const names = mangledNames(process.execPath, ['-a']);
  if (library !== undefined) names.push(...mangledNames(library, ['-D']));
  if (names.length === 0) return t.skip('no symbols');
  assert.deepEqual(differences(names), []);
});

test('the symbols of the Rust compiler read as c++filt reads them', (t) => {
  if (!hasBinutils) return t.skip('no binutils');
  const library = rustLibrary('librustc_driver');
  if (library === undefined) return t.skip('no Rust toolchain');
  // c++filt 2.40 prints constants of more than 64 bits wrongly: it takes 16 characters from the wrong end.
  const names = mangledNames(library, ['-D']).filter((name) => !/K[no]n?[0-9a-f]{17,}_/.test(name));
  assert.deepEqual(differences(names), []);
});
