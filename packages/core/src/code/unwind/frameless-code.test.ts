/** Truth: objdump's instructions, and readelf's frame information. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { FramelessCode } from './frameless-code.ts';

const folder = mkdtempSync(join(tmpdir(), 'frameless-'));
after(() => rmSync(folder, { recursive: true }));

const SOURCE = `
  __attribute__((noinline)) double leaf(double x) { return x * x + 1; }
  __attribute__((noinline)) int sink(char *);
  __attribute__((noinline)) int framed(int n) { char room[64]; room[0] = n; return sink(room) + 1; }
  int sink(char *room) { __asm__ volatile("" ::: "memory"); return room[0]; }
  int main(int count, char **words) { return framed(count) + (int)leaf(count); }
`;

const hasCompiler = process.arch === 'x64' && spawnSync('cc', ['--version']).status === 0;

test('a leaf has its caller at the top of the stack, and others before and after their frame', {
  skip: !hasCompiler && 'no C compiler for x86-64',
}, async () => {
  const path = join(folder, 'program');
  writeFileSync(`${path}.c`, SOURCE);
  const built = spawnSync('cc', [
    '-O1',
    '-fno-omit-frame-pointer',
    '-fno-stack-protector',
    '-no-pie',
    '-o',
    path,
    `${path}.c`,
  ]);
  assert.equal(built.status, 0, String(built.stderr));
  const listing = spawnSync('objdump', ['-d', '--no-show-raw-insn', path], { encoding: 'utf8' }).stdout;
  const load = spawnSync('readelf', ['-lW', path], { encoding: 'utf8' }).stdout;
  const [, offset, address] = /LOAD +(0x\w+) (0x\w+) \S+ \S+ \S+ R E/.exec(load)!;
  const code = new FramelessCode({ open: async () => memorySource(readFileSync(path)) });
  await code.load(3, { path, buildId: '', pid: -1, isVdso: false, acceptUnverified: true });
  const answers = (name: string) => {
    const body = listing.split(`<${name}>:\n`)[1]!.split('\n\n')[0]!;
    return body.split('\n').map((line) => {
      const [, at, text] = /^ *(\w+):\t(.*?) *$/.exec(line)!;
      const place = Number.parseInt(at!, 16) - Number(address) + Number(offset);
      return { text: text!, isAtTop: code.hasCallerAtTop(3, place) };
    });
  };
  // With -fno-omit-frame-pointer compilers may give a leaf one, too: its first
  // instruction and its `ret` have none.
  for (const name of ['leaf', 'framed']) {
    const found = answers(name);
    assert.ok(found[0]!.isAtTop, JSON.stringify(found));
    assert.ok(found.find(({ text }) => /^ret/.test(text))!.isAtTop, JSON.stringify(found));
  }
  const framed = answers('framed');
  const call = framed.find(({ text }) => text.startsWith('call'))!;
  assert.ok(!call.isAtTop, JSON.stringify(framed));
  const push = framed.findIndex(({ text }) => text.startsWith('push'));
  assert.deepEqual(
    framed.slice(0, push + 2).map(({ isAtTop }) => isAtTop),
    [...Array(push + 1).fill(true), false],
  );
  assert.equal(code.hasCallerAtTop(4, Number(offset)), false);
});
