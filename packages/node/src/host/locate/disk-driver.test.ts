import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  lchownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import type { Diagnostic } from '@counterpoint/core/base';
import { openElf, readBuildId } from '@counterpoint/core/elf';
import { type FileRequest, loadCodeSymbols } from '@counterpoint/core/symbols';
import { WaitingWriter } from '../../test/waiting-writer.ts';
import { type DiskDriverOptions, diskDriver, kernelBuildId } from './index.ts';
import { openPerfMap } from './perf-map.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-'));
after(() => rmSync(folder, { recursive: true }));

/** Two binaries with build ids, whichever they are. */
const NODE = process.execPath;
const SHELL = '/bin/sh';
const NODE_ID = await idOf(NODE);
const SHELL_ID = await idOf(SHELL);
const noIds = NODE_ID !== '' && SHELL_ID !== '' ? false : 'node or sh has no build id';

async function idOf(path: string): Promise<string> {
  const bytes = new Uint8Array(readFileSync(path));
  const elf = await openElf({ size: bytes.length, read: async (at, size) => bytes.slice(at, at + size) });
  return readBuildId(elf);
}

/** A driver that sees nothing of this machine but what the test puts into the folder. */
function driver(options: DiskDriverOptions = {}) {
  return diskDriver({
    buildIdDir: join(folder, 'debug'),
    debugDirs: ['/usr/lib/debug'],
    symfs: join(folder, 'root'),
    tmpDir: join(folder, 'tmp'),
    procDir: '/proc',
    environment: {},
    ...options,
  });
}

interface Answer {
  bytes: Uint8Array | null;
  codes: string[];
}

async function ask(request: Partial<FileRequest>, options: DiskDriverOptions = {}): Promise<Answer> {
  const diagnostics: Diagnostic[] = [];
  const full = {
    need: 'binary',
    path: '/bin/app',
    buildId: '',
    pid: -1,
    required: true,
    ...request,
  } as const;
  const file = await driver(options).open(full, diagnostics);
  const bytes = file === null ? null : await file.read(0, file.size);
  await file?.close?.();
  return { bytes, codes: diagnostics.map(({ code }) => code) };
}

/** Puts a copy of a file, or text, at a path below the folder. */
function put(path: string, content: { copyOf: string } | string): string {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  if (typeof content === 'string') writeFileSync(target, content);
  else copyFileSync(content.copyOf, target);
  return target;
}

async function isCopyOf(answer: Answer, path: string): Promise<void> {
  assert.ok(answer.bytes !== null && readFileSync(path).equals(answer.bytes), `not ${path}`);
}

const cache = (id: string, what: string) => `debug/.build-id/${id.slice(0, 2)}/${id.slice(2)}/${what}`;

test('the recorded path, where it is the recorded build', { skip: noIds }, async () => {
  put('root/bin/app', { copyOf: SHELL });
  await isCopyOf(await ask({}), SHELL);
  await isCopyOf(await ask({ buildId: SHELL_ID }), SHELL);
  await isCopyOf(await ask({ path: '/bin/app (deleted)', buildId: SHELL_ID }), SHELL);
  assert.equal((await ask({ path: '/bin/app (deleted)' })).bytes, null);
  assert.equal((await ask({ path: 'bin/app' })).bytes, null);
  assert.equal((await ask({ path: '/bin' })).bytes, null);
});

test('another build there: perf’s cache before it, and it for the asker to refuse where there is no better', {
  skip: noIds,
}, async () => {
  put('root/bin/app', { copyOf: SHELL });
  await isCopyOf(await ask({ buildId: NODE_ID }), SHELL);
  put(cache(NODE_ID, 'elf'), { copyOf: NODE });
  await isCopyOf(await ask({ buildId: NODE_ID }), NODE);
});

test('perf’s older cache, where the build id is a link to a directory', { skip: noIds }, async () => {
  const old = join(folder, 'old');
  mkdirSync(join(old, `bin/sh/${SHELL_ID}`), { recursive: true });
  mkdirSync(join(old, '.build-id', SHELL_ID.slice(0, 2)), { recursive: true });
  copyFileSync(SHELL, join(old, `bin/sh/${SHELL_ID}/elf`));
  symlinkSync(`../../bin/sh/${SHELL_ID}`, join(old, '.build-id', SHELL_ID.slice(0, 2), SHELL_ID.slice(2)));
  await isCopyOf(await ask({ path: '/gone', buildId: SHELL_ID }, { buildIdDir: old }), SHELL);
});

test('debug files: by build id, beside the binary, in .debug, in the debug directories; never the binary itself', {
  skip: noIds,
}, async () => {
  const debugLink = { name: 'app.debug', crc: 0 };
  const request = { need: 'debug', path: '/opt/app', debugLink } as const;
  put('root/opt/app', { copyOf: NODE });
  assert.equal((await ask(request)).bytes, null);
  assert.equal((await ask({ ...request, debugLink: { name: 'app', crc: 0 } })).bytes, null);
  const places = ['root/usr/lib/debug/opt/app.debug', 'root/opt/.debug/app.debug', 'root/opt/app.debug'];
  for (const place of places) {
    put(place, place);
    assert.equal(Buffer.from((await ask(request)).bytes!).toString(), place);
  }
  const byId = { ...request, buildId: SHELL_ID };
  put(`root/usr/lib/debug/.build-id/${SHELL_ID.slice(0, 2)}/${SHELL_ID.slice(2)}.debug`, { copyOf: SHELL });
  await isCopyOf(await ask(byId), SHELL);
});

test('a build id that is not hex does not become part of a path', async () => {
  put('secret/elf', 'secret');
  for (const buildId of ['../../secret', 'ab/../../../secret', '']) {
    assert.equal((await ask({ path: '/gone', buildId })).bytes, null);
    assert.equal((await ask({ need: 'debug', path: '/gone', buildId })).bytes, null);
  }
});

test('kallsyms: of the running kernel, or perf’s copy of the one that was recorded', async () => {
  const other = 'ab'.repeat(20);
  assert.equal((await ask({ need: 'kallsyms', buildId: other })).bytes, null);
  put(cache(other, 'kallsyms'), 'ffffffff81000000 T _text\n');
  assert.match(Buffer.from((await ask({ need: 'kallsyms', buildId: other })).bytes!).toString(), /_text/);
  const running = kernelBuildId();
  const { bytes } = await ask({ need: 'kallsyms', buildId: running });
  assert.match(Buffer.from(bytes!.subarray(0, 100)).toString(), /^[0-9a-f]{8,16} \w /);
  // A kernel that hides its addresses is worth less than a copy from before.
  const procDir = join(folder, 'proc');
  put('proc/kallsyms', '0000000000000000 T hidden\n');
  put(cache(running, 'kallsyms'), 'ffffffff81000000 T kept\n');
  const kept = await ask({ need: 'kallsyms', buildId: running }, { procDir });
  assert.match(Buffer.from(kept.bytes!).toString(), /kept/);
  // Symbols of per-CPU data have small addresses for everyone.
  put('proc/kallsyms', '0000000000000000 A percpu\nffffffff81000000 T shown\n');
  const shown = await ask({ need: 'kallsyms', buildId: running }, { procDir });
  assert.match(Buffer.from(shown.bytes!).toString(), /shown/);
});

test('the build id of the kernel is the one perf finds', { skip: noPerf() }, () => {
  const { stdout } = spawnSync('perf', ['buildid-list', '-k'], { encoding: 'utf8' });
  assert.equal(kernelBuildId(), stdout.trim());
  assert.equal(kernelBuildId(join(folder, 'none')), '');
});

function noPerf(): string | false {
  return spawnSync('perf', ['--version']).status === 0 ? false : 'perf is not installed';
}

test('the vdso of this process is an ELF image with the functions of the vdso', async () => {
  const diagnostics: Diagnostic[] = [];
  const vdso = { path: '[vdso]', buildId: '', kind: 'vdso', pid: process.pid } as const;
  const table = await loadCodeSymbols(vdso, driver(), diagnostics);
  assert.deepEqual(diagnostics, []);
  const names = Array.from({ length: table!.length }, (_, symbol) => table!.name(symbol));
  assert.ok(
    names.some((name) => /clock_gettime/.test(name)),
    names.join(' '),
  );
});

test('perf maps by pid, and only those that belong to us, to root or to the process', {
  skip: notRoot(),
}, async () => {
  const path = put('tmp/perf-4242424.map', '1000 10 name\n');
  const request = { need: 'perf-map', path: '', pid: 4242424 } as const;
  assert.equal((await ask(request)).bytes!.length, 13);
  chownSync(path, 12345, 12345);
  const refused = await ask(request);
  assert.deepEqual([refused.bytes, refused.codes], [null, ['perf-map-owner']]);
  assert.equal((await ask(request, { anyOwner: true })).bytes!.length, 13);
  const child = spawn('sleep', ['60'], { uid: 12345 });
  try {
    const own = put(`tmp/perf-${child.pid}.map`, '1000 10 name\n');
    chownSync(own, 12345, 12345);
    await started(child, 'sleep');
    assert.equal((await ask({ ...request, pid: child.pid! })).bytes!.length, 13);
  } finally {
    child.kill('SIGKILL');
  }
  assert.deepEqual(await ask({ ...request, pid: 4242425 }), { bytes: null, codes: [] });
  // One that was written before its process began is of an earlier process, whoever has it.
  const writtenMs = Date.now() - 60_000;
  utimesSync(path, writtenMs / 1000, writtenMs / 1000);
  const options = { anyOwner: true };
  assert.equal((await ask({ ...request, startMs: writtenMs - 1000 }, options)).bytes!.length, 13);
  const stale = await ask({ ...request, startMs: writtenMs + 1000 }, options);
  assert.deepEqual(stale, { bytes: null, codes: ['perf-map-stale'] });
});

test('a perf map that cannot be read: the true reason, and a remedy that exists', {
  skip: notRoot(),
}, async () => {
  const told = async (path: string) => {
    const diagnostics: Diagnostic[] = [];
    const view = null;
    await openPerfMap(
      { need: 'perf-map', path: '', pid: 4242426, buildId: '', required: true },
      view,
      { tmpDir: dirname(path), anyOwner: false },
      diagnostics,
    );
    assert.equal(diagnostics.length, 1);
    return `${diagnostics[0]!.detail}. ${diagnostics[0]!.remedy}`;
  };
  const path = put('maps/perf-4242426.map', '1000 10 name\n');
  chownSync(path, 12345, 12345);
  assert.match(await told(path), new RegExp(`belongs to user 12345, .*: chown 0 ${path}$`));
  rmSync(path);
  mkdirSync(path);
  assert.match(await told(path), /^it is not a regular file\. .*remove it/);
  rmdirSync(path);
  symlinkSync(path, path);
  assert.match(await told(path), /^it is a link to itself\. .*remove it/);
});

test('a link to a perf map: only where it is ours or root’s, and leads to a map that belongs to them', {
  skip: notRoot(),
}, async () => {
  const path = join(folder, 'tmp/perf-4242427.map');
  const request = { need: 'perf-map', path: '', pid: 4242427 } as const;
  const map = put('elsewhere.map', '1000 10 name\n');
  symlinkSync(map, path);
  assert.equal((await ask(request)).bytes!.length, 13);
  // Another user makes our own file look like a map.
  lchownSync(path, 12345, 12345);
  assert.deepEqual(await ask(request), { bytes: null, codes: ['perf-map-owner'] });
  lchownSync(path, 0, 0);
  chownSync(map, 12345, 12345);
  assert.deepEqual(await ask(request), { bytes: null, codes: ['perf-map-owner'] });
  rmSync(path);
  chownSync(map, 0, 0);
  linkSync(map, path);
  assert.deepEqual(await ask(request), { bytes: null, codes: ['perf-map-owner'] });
  assert.equal((await ask(request, { anyOwner: true })).bytes!.length, 13);
  rmSync(path);
  symlinkSync('/dev/zero', path);
  assert.deepEqual(await ask(request), { bytes: null, codes: ['perf-map-access'] });
});

test('a jitdump: by the rule of perf maps', { skip: notRoot() }, async () => {
  const request = { need: 'jitdump', path: '/dumps/jit-4242428.dump', pid: 4242428 } as const;
  const path = put('root/dumps/jit-4242428.dump', 'JiTD');
  assert.equal((await ask(request)).bytes!.length, 4);
  chownSync(path, 12345, 12345);
  assert.deepEqual(await ask(request), { bytes: null, codes: ['jitdump-owner'] });
  assert.equal((await ask(request, { anyOwner: true })).bytes!.length, 4);
  rmSync(path);
  const dump = put('elsewhere.dump', 'JiTD');
  symlinkSync(dump, path);
  assert.equal((await ask(request)).bytes!.length, 4);
  // Another user makes our own file look like a dump.
  lchownSync(path, 12345, 12345);
  assert.deepEqual(await ask(request), { bytes: null, codes: ['jitdump-owner'] });
  rmSync(path);
  linkSync(dump, path);
  assert.deepEqual(await ask(request), { bytes: null, codes: ['jitdump-owner'] });
  // What the process itself owns.
  const child = spawn('sleep', ['60'], { uid: 12345 });
  try {
    const own = put(`root/dumps/jit-${child.pid}.dump`, 'JiTD');
    chownSync(own, 12345, 12345);
    await started(child, 'sleep');
    const theirs = { ...request, path: `/dumps/jit-${child.pid}.dump`, pid: child.pid! };
    assert.equal((await ask(theirs)).bytes!.length, 4);
  } finally {
    child.kill('SIGKILL');
  }
});

test('a recording that names a pipe, a device or a file of the kernel: nothing is opened', async () => {
  mkdirSync(join(folder, 'root/bin'), { recursive: true });
  const writer = await WaitingWriter.at(join(folder, 'root/bin/pipe'));
  for (const need of ['binary', 'jitdump', 'debug'] as const) {
    for (const path of [
      '/bin/pipe',
      '/dev/zero',
      '/dev/kmsg',
      '/proc/kmsg',
      '/sys/kernel/tracing/trace_pipe',
    ]) {
      const debugLink = { name: path.slice(path.lastIndexOf('/') + 1), crc: 0 };
      const symfs = path === '/bin/pipe' ? {} : { symfs: '' };
      const { bytes, codes } = await ask({ need, path, debugLink }, symfs);
      assert.equal(bytes, null, `${need} ${path}`);
      if (need === 'binary' && path === '/bin/pipe') assert.deepEqual(codes, ['not-a-file']);
    }
  }
  await writer.assertUnopened();
});

function notRoot(): string | false {
  return process.getuid?.() === 0 ? false : 'only root can give files away';
}

/** Waits until the child has become the program. */
async function started(child: ChildProcess, name: string): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    try {
      if (readFileSync(`/proc/${child.pid}/comm`, 'utf8').trim() === name) return;
    } catch {
      // Not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`${name} did not start`);
}

test('a process in a container: its own files, its own /tmp, its own pid', {
  skip: noNamespaces(),
}, async () => {
  const script =
    'mount -t tmpfs none /tmp && echo "1000 10 inside $$" > /tmp/perf-$$.map && cp /bin/sh /tmp/app && exec sleep 60';
  const child = spawn('unshare', ['--mount', '--pid', '--fork', 'sh', '-c', script], { detached: true });
  try {
    const pid = await sleeperBelow(child.pid!);
    const map = await ask({ need: 'perf-map', path: '', pid });
    assert.equal(Buffer.from(map.bytes!).toString(), '1000 10 inside 1\n');
    await isCopyOf(await ask({ path: '/tmp/app', pid }), SHELL);
    assert.equal((await ask({ path: '/tmp/app', pid: process.pid })).bytes, null);
  } finally {
    process.kill(-child.pid!, 'SIGKILL');
  }
});

function noNamespaces(): string | false {
  const { status } = spawnSync('unshare', [
    '--mount',
    '--pid',
    '--fork',
    'mount',
    '-t',
    'tmpfs',
    'none',
    '/tmp',
  ]);
  return status === 0 ? false : 'namespaces cannot be made here';
}

/** The pid, seen from here, of the `sleep` that the child's child becomes. */
async function sleeperBelow(parent: number): Promise<number> {
  for (let tries = 0; tries < 500; tries++) {
    const pid = Number(readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ')[0]);
    if (pid > 0 && readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'sleep') return pid;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the container did not start');
}

test('names of the running node and of its kernel, from this machine as it is', async () => {
  const diagnostics: Diagnostic[] = [];
  const here = diskDriver({ environment: {} });
  const node = await loadCodeSymbols(
    { path: NODE, buildId: NODE_ID, kind: 'user', pid: process.pid },
    here,
    diagnostics,
  );
  assert.ok(node !== null && node.length > 1000);
  const kernel = { path: '[kernel.kallsyms]', buildId: kernelBuildId(), kind: 'kernel', pid: -1 } as const;
  const table = await loadCodeSymbols(kernel, here, diagnostics);
  if (table === null) assert.ok(diagnostics.some(({ code }) => code === 'kernel-restricted'));
  else assert.ok(table.length > 10_000);
});

test("a copy of the kernel's memory: the one that was named, then the newest in perf's cache", async () => {
  const id = 'ab'.repeat(20);
  const cache = join(folder, 'kcore-cache');
  for (const [time, text] of [
    ['2026010100000000', 'old'],
    ['2026020200000000', 'new'],
  ] as const) {
    mkdirSync(join(cache, '[kernel.kcore]', id, time), { recursive: true });
    writeFileSync(join(cache, '[kernel.kcore]', id, time, 'kcore'), text);
  }
  const named = join(folder, 'named.kcore');
  writeFileSync(named, 'named');
  const ask = async (options: DiskDriverOptions, buildId = id): Promise<string | null> => {
    const request: FileRequest = { need: 'kcore', path: '/proc/kcore', buildId, pid: -1, required: true };
    const file = await driver({ buildIdDir: cache, ...options }).open(request, []);
    if (file === null) return null;
    const text = new TextDecoder().decode(await file.read(0, file.size));
    await file.close?.();
    return text;
  };
  assert.equal(await ask({}), 'new');
  assert.equal(await ask({ kernelCore: named }), 'named');
  assert.equal(await ask({}, 'cd'.repeat(20)), null);
  assert.equal(await ask({}, ''), null);
});
