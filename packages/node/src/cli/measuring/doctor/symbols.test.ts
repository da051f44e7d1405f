import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KernelFiles, realFiles } from '../../../linux/kernel/probe/index.ts';
import { buildIdOf, checkDebugSymbols, libraryPath } from './symbols.ts';

test('the library of this process is found, and its build id', async () => {
  const path = libraryPath(realFiles);
  assert.ok(path !== null);
  assert.match(await buildIdOf(path), /^[\da-f]{16,}$/);
  assert.equal(await buildIdOf('/proc/self/status'), '');
});

test('debug symbols: installed, from a server, or how to get them', () => {
  const library = { path: '/lib/libc.so.6', buildId: 'abcdef0123' };
  const machine = (texts: Record<string, string>): KernelFiles => ({
    read: (path) => texts[path] ?? null,
    obstacle: (path) => (texts[path] === undefined ? 'ENOENT' : null),
    link: () => null,
    list: () => [],
  });
  const debian = { '/etc/os-release': 'NAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n' };
  const check = (texts: Record<string, string>, environment = {}) =>
    checkDebugSymbols(machine(texts), library, environment);
  assert.equal(check({ '/usr/lib/debug/.build-id/ab/cdef0123.debug': '' }).state, 'ok');
  assert.equal(check(debian, { DEBUGINFOD_URLS: 'https://debug.example' }).state, 'ok');
  const absent = check(debian);
  assert.equal(absent.state, 'absent');
  assert.match(absent.fix, /apt-get install libc6-dbg\n.*DEBUGINFOD_URLS=https:\/\/debuginfod\.debian\.net/);
  assert.match(check({}).fix, /debuginfod\.elfutils\.org/);
  assert.equal(checkDebugSymbols(machine({}), { path: null, buildId: '' }, {}).state, 'unknown');
});
