import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { binaryPaths, debugPaths, kernelImagePaths } from './file-paths.ts';
import { diskDriver } from './index.ts';
import { hostPaths, onThisMachine } from './recorded-path.ts';

const WINDOWS = { platform: 'win32' } as const;
const MAC = { platform: 'darwin' } as const;
const LINUX = { platform: 'linux' } as const;
const SYMFS = 'D:\\files of\\server';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-symfs-'));
after(() => rmSync(folder, { recursive: true }));

test('on Linux a recorded path is a path; elsewhere only under a directory with that machine’s files', () => {
  const path = '/usr/lib/libc.so.6';
  assert.equal(onThisMachine(path, '', LINUX), path);
  assert.equal(onThisMachine(path, '/mnt/server', LINUX), `/mnt/server${path}`);
  assert.equal(onThisMachine(path, '', MAC), null);
  assert.equal(onThisMachine(path, '/Volumes/server', MAC), `/Volumes/server${path}`);
  assert.equal(onThisMachine(path, '', WINDOWS), null);
  assert.equal(onThisMachine(path, SYMFS, WINDOWS), 'D:\\files of\\server\\usr\\lib\\libc.so.6');
});

test('on Windows no recorded name leads to another machine, drive, device, stream or directory', () => {
  for (const name of [
    '//attacker/share/x',
    '/a/../../../secret',
    '/a/..',
    '/C:/Windows/win.ini',
    '/file.txt:stream',
    '/dir\\..\\x',
    '\\\\attacker\\share',
    '/dev/nul',
    '/x/AUX.c',
    '/x/com1',
    '/x/LPT².txt',
    '/x/conin$',
    '/ends with dot.',
    '/ends with blank ',
    '/new\nline',
    '/x/a*b',
  ]) {
    const path = onThisMachine(name, SYMFS, WINDOWS);
    assert.ok(path === null || path === 'D:\\files of\\server\\attacker\\share\\x', `${name} is ${path}`);
  }
  for (const name of ['/x/console', '/x/auxiliary.so', '/x/com10', '/lib/libstdc++.so.6', '/opt/a b/c'])
    assert.equal(onThisMachine(name, SYMFS, WINDOWS), `${SYMFS}${name.replaceAll('/', '\\')}`);
});

test('every place of a program, its debug file and the kernel: under symfs or perf’s cache', () => {
  const buildIdDir = hostPaths(WINDOWS).join('C:\\Users\\me', '.debug');
  assert.equal(buildIdDir, 'C:\\Users\\me\\.debug');
  const places = { buildIdDir, debugDirs: ['/usr/lib/debug'], symfs: '', host: WINDOWS };
  const request = {
    need: 'debug',
    path: '/usr/bin/server',
    buildId: 'abcd1234',
    pid: 7,
    required: true,
    debugLink: { name: 'server.debug', crc: 0 },
  } as const;
  const all = (symfs: string) => [
    ...binaryPaths({ ...places, symfs }, request, ''),
    ...debugPaths({ ...places, symfs }, request, ''),
    ...kernelImagePaths({ ...places, symfs, debugDirs: [] }, 'abcd1234', '6.1.0'),
  ];
  assert.ok(all('').length > 0);
  for (const path of all('')) assert.ok(path.startsWith(buildIdDir), path);
  const under = all(SYMFS).filter((path) => !path.startsWith(buildIdDir));
  assert.ok(under.includes(`${SYMFS}\\usr\\bin\\server`));
  assert.ok(under.includes(`${SYMFS}\\usr\\lib\\debug\\.build-id\\ab\\cd1234.debug`));
  for (const path of under) assert.ok(path.startsWith(`${SYMFS}\\`) && !path.includes('/'), path);
});

test('on a Mac this machine’s own files are not those of the recording', async () => {
  const path = process.execPath;
  const request = { need: 'binary', path, buildId: '', pid: process.pid, required: false } as const;
  const environment = { PERF_BUILDID_DIR: join(folder, 'no-cache') };
  assert.equal(await diskDriver({ host: MAC, environment }).open(request, []), null);
  const symfs = join(folder, 'server');
  mkdirSync(join(symfs, path, '..'), { recursive: true });
  cpSync('/bin/true', join(symfs, path));
  const found = await diskDriver({ host: MAC, environment, symfs }).open(request, []);
  assert.ok(found !== null && found.size > 0);
  await found.close?.();
  const map = { ...request, need: 'perf-map' } as const;
  assert.equal(await diskDriver({ host: MAC, environment }).open(map, []), null);
});
