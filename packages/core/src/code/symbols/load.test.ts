import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { type Diagnostic, FormatError, memorySource } from '../../base/index.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { buildIdNote, type TinyElf, tinyElf } from '../../test/tiny-elf.ts';
import { crc32, PT_LOAD, SHT_NOTE } from '../elf/index.ts';
import { type CodeBinary, type CodeSymbols, type LoadOptions, loadCodeSymbols } from './index.ts';

const ID = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
const OTHER_ID = '0123456789abcdef0123456789abcdef01234567';
const TEXT = { name: '.text', type: 1, bytes: new Uint8Array(0x100), address: 0x1000 };
const LOADED = { type: PT_LOAD, offset: 0x1000, address: 0x1000, fileSize: 0x1000 };

/** A binary with a build id ('' for none) and whatever else is given. */
function binary(buildId: string, elf: TinyElf = {}): Uint8Array<ArrayBuffer> {
  const note = { name: '.note', type: SHT_NOTE, bytes: buildIdNote(buildId) };
  return tinyElf({
    segments: [LOADED],
    ...elf,
    sections: [TEXT, ...(buildId === '' ? [] : [note]), ...(elf.sections ?? [])],
  });
}

const named = (...names: string[]) =>
  names.map((name, index) => ({ name, value: 0x1000 + index * 16, size: 16 }));

interface Loaded {
  table: CodeSymbols | null;
  codes: string[];
  diagnostics: Diagnostic[];
}

async function load(
  driver: MemoryDriver,
  what: Partial<CodeBinary>,
  options: LoadOptions = {},
): Promise<Loaded> {
  const diagnostics: Diagnostic[] = [];
  const asked = { path: '/bin/app', buildId: '', kind: 'user', pid: 7, ...what } as const;
  const table = await loadCodeSymbols(asked, driver, diagnostics, options);
  assert.equal(driver.openFiles, 0, 'a file was left open');
  for (const { detail } of diagnostics) assert.ok(detail.length > 10);
  return { table, codes: diagnostics.map(({ code }) => code), diagnostics };
}

function names(table: CodeSymbols | null): string[] | null {
  return table === null ? null : Array.from({ length: table.length }, (_, symbol) => table.name(symbol));
}

test('the binary itself, with the recorded build id or where none was recorded', async () => {
  const driver = new MemoryDriver({ 'binary /bin/app': binary(ID, { symbols: named('main', '_ZN1a1bEv') }) });
  for (const buildId of [ID, '']) {
    const { table, codes } = await load(driver, { buildId });
    assert.deepEqual(names(table), ['main', 'a::b']);
    assert.deepEqual(codes, []);
  }
  assert.deepEqual((await load(driver, {}, { acceptUnverified: false })).codes, ['unverified']);
  assert.equal(driver.asked[0]!.pid, 7);
});

test('a binary of another build gives no names and says so', async () => {
  const driver = new MemoryDriver({ 'binary /bin/app': binary(OTHER_ID, { symbols: named('wrong') }) });
  const { table, diagnostics } = await load(driver, { buildId: ID });
  assert.equal(table, null);
  assert.equal(diagnostics[0]!.code, 'build-id-mismatch');
  assert.equal(diagnostics[0]!.path, '/bin/app');
  assert.match(diagnostics[0]!.detail, new RegExp(`${OTHER_ID}.*${ID}`));
  assert.notEqual(diagnostics[0]!.remedy, '');
});

test('without the binary, its debug file alone will do', async () => {
  const driver = new MemoryDriver({ 'debug /bin/app': binary(ID, { symbols: named('from_debug') }) });
  const { table, codes } = await load(driver, { buildId: ID });
  assert.deepEqual(names(table), ['from_debug']);
  assert.deepEqual(codes, ['not-found']);
  assert.equal((await load(new MemoryDriver(), { buildId: ID })).table, null);
});

test('a stripped binary: the debug file before the exported names', async () => {
  const app = binary(ID, { dynamicSymbols: named('exported') });
  const debug = binary(ID, { symbols: named('exported', 'inner') });
  const both = await load(new MemoryDriver({ 'binary /bin/app': app, 'debug /bin/app': debug }), {
    buildId: ID,
  });
  assert.deepEqual([names(both.table), both.codes], [['exported', 'inner'], []]);
  const alone = await load(new MemoryDriver({ 'binary /bin/app': app }), { buildId: ID });
  assert.deepEqual([names(alone.table), alone.codes], [['exported'], ['exported-only']]);
});

test('a debug file of another build is refused', async () => {
  const { table, codes } = await load(
    new MemoryDriver({
      'binary /bin/app': binary(ID, { dynamicSymbols: named('exported') }),
      'debug /bin/app': binary(OTHER_ID, { symbols: named('wrong') }),
    }),
    { buildId: ID },
  );
  assert.deepEqual(names(table), ['exported']);
  assert.deepEqual(codes, ['debug-mismatch', 'exported-only']);
});

test('without build ids the debug link goes by the checksum of the whole file', async () => {
  const debug = binary('', { symbols: named('inner') });
  const link = (crc: number) => {
    const bytes = new Uint8Array(16);
    bytes.set(new TextEncoder().encode('app.debug'));
    new DataView(bytes.buffer).setUint32(12, crc, true);
    return binary('', { sections: [{ name: '.gnu_debuglink', type: 1, bytes }] });
  };
  const good = new MemoryDriver({ 'binary /bin/app': link(crc32(debug)), 'debug /bin/app': debug });
  assert.deepEqual(names((await load(good, {})).table), ['inner']);
  assert.equal(good.asked[1]!.debugLink?.name, 'app.debug');
  const bad = new MemoryDriver({ 'binary /bin/app': link(crc32(debug) ^ 1), 'debug /bin/app': debug });
  const { table, codes } = await load(bad, {});
  assert.deepEqual([table, codes], [null, ['debug-mismatch', 'no-symbols']]);
});

test('damaged .gnu_debugdata leaves the exported names', async () => {
  const app = binary(ID, {
    sections: [{ name: '.gnu_debugdata', type: 1, bytes: new Uint8Array(64) }],
    dynamicSymbols: named('exported'),
  });
  const driver = new MemoryDriver({ 'binary /bin/app': app });
  const { table, codes } = await load(driver, { buildId: ID });
  assert.deepEqual([names(table), codes], [['exported'], ['debugdata-damaged', 'exported-only']]);
  // With a substitute at hand the debug file is not worth a download.
  assert.equal(driver.asked.find((request) => request.need === 'debug')!.required, false);
});

test('what is no ELF file, or a damaged one, is said and survived', async () => {
  const script = new MemoryDriver({ 'binary /bin/app': '#!/bin/sh\n' });
  assert.deepEqual((await load(script, {})).codes, ['not-elf']);
  const driver = new MemoryDriver();
  driver.open = async () => ({
    size: 100,
    read: async () => {
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    },
    close: async () => {},
  });
  assert.deepEqual((await load(driver, {})).codes, ['unreadable']);
});

test('a mistake in a driver is not hidden', async () => {
  const driver = new MemoryDriver();
  driver.open = async () => {
    throw new TypeError('undefined is not a function');
  };
  await assert.rejects(load(driver, {}), TypeError);
});

test('the vdso is an ELF image; [vsyscall] has no names; unknown memory is not asked for', async () => {
  const driver = new MemoryDriver({
    'vdso [vdso]': binary(ID, { dynamicSymbols: named('__vdso_clock_gettime') }),
  });
  const { table, codes } = await load(driver, { path: '[vdso]', kind: 'vdso', buildId: ID });
  assert.deepEqual([names(table), codes], [['__vdso_clock_gettime'], []]);
  assert.equal((await load(driver, { path: '[vsyscall]', kind: 'vdso' })).table, null);
  assert.equal((await load(driver, { path: '[unknown]', kind: 'unknown' })).table, null);
  assert.equal(driver.asked.length, 1);
});

const KALLSYMS = `ffffffff81000000 T _text
ffffffff81001000 T schedule
ffffffffc0200000 t ext4_read	[ext4]
`;
const KERNEL = { path: '[kernel.kallsyms]', kind: 'kernel', buildId: ID, pid: -1 } as const;
const HERE = { symbol: '_text', address: -0x7f00_0000 };

test('the kernel as it runs, its modules with it', async () => {
  const driver = new MemoryDriver({ 'kallsyms [kernel.kallsyms]': KALLSYMS });
  for (const kernelReference of [HERE, { ...HERE, address: 0xffff_ffff_8100_0000 }, null]) {
    const { table, codes } = await load(driver, KERNEL, { kernelReference });
    assert.deepEqual([names(table), codes], [['_text', 'schedule', 'ext4_read'], []]);
    assert.equal(table!.name(table!.lookup(-0x7f00_0000 + 0x1008)), 'schedule');
  }
  // One text for the kernel and all its modules: read once.
  assert.equal(driver.asked.length, 1);
  assert.equal(driver.asked[0]!.buildId, ID);
  const module = await load(
    driver,
    { path: '/lib/modules/6.1/fs/ext4.ko.zst', kind: 'module' },
    { kernelBuildId: ID },
  );
  assert.deepEqual([names(module.table), driver.asked.length], [['ext4_read'], 1]);
});

test('the same kernel booted again elsewhere: moved, without the modules, which moved by other distances', async () => {
  const driver = new MemoryDriver({
    'kallsyms [kernel.kallsyms]': KALLSYMS,
    'modules /proc/modules': 'ext4 4096 0 - Live 0xffffffffc0200000\n',
  });
  const options = { kernelReference: { symbol: '_text', address: -0x6f00_0000 }, kernelBuildId: ID };
  const { table } = await load(driver, KERNEL, options);
  assert.deepEqual(names(table), ['_text', 'schedule']);
  assert.equal(table!.name(table!.lookup(-0x6f00_0000 + 0x1008)), 'schedule');
  const module = { path: '[ext4]', kind: 'module', buildId: '' } as const;
  assert.deepEqual((await load(driver, module, options)).codes, ['module-moved']);
  const placed = await load(driver, module, { ...options, moduleStart: -0x3ff0_0000 });
  assert.equal(placed.table!.start(0), -0x3ff0_0000);
  assert.deepEqual((await load(driver, { ...module, path: '[nope]' }, { kernelReference: HERE })).codes, [
    'module-not-loaded',
  ]);
});

test('no names of another kernel, of one that hides its addresses, or of one that cannot be told', async () => {
  assert.deepEqual((await load(new MemoryDriver(), KERNEL)).codes, ['kernel-not-found']);
  const hidden = new MemoryDriver({ 'kallsyms [kernel.kallsyms]': '0000000000000000 T _text\n' });
  assert.deepEqual((await load(hidden, KERNEL)).codes, ['kernel-restricted']);
  const driver = new MemoryDriver({ 'kallsyms [kernel.kallsyms]': KALLSYMS });
  const elsewhere = { kernelReference: { symbol: '_text', address: -0x6f00_0000 } };
  assert.deepEqual((await load(driver, { ...KERNEL, buildId: '' }, elsewhere)).codes, ['kernel-differs']);
  assert.deepEqual((await load(driver, { ...KERNEL, buildId: '' }, { acceptUnverified: false })).codes, [
    'unverified',
  ]);
  const strange = { kernelReference: { symbol: '_start_of_another_world', address: 0 } };
  assert.deepEqual((await load(driver, KERNEL, strange)).codes, ['kernel-reference']);
  assert.deepEqual((await load(driver, { ...KERNEL, path: '[guest.kernel.kallsyms]' })).codes, ['guest']);
});

test('a vmlinux with the build id stands in for kallsyms', async () => {
  const image = tinyElf({
    type: 2,
    sections: [
      { ...TEXT, address: -0x7f00_0000 },
      { name: '.notes', type: SHT_NOTE, bytes: buildIdNote(ID) },
    ],
    symbols: [
      { name: '_text', value: -0x7f00_0000, type: 0 },
      { name: 'schedule', value: -0x7f00_0000 + 16, size: 16 },
    ],
  });
  const driver = new MemoryDriver({ 'binary vmlinux': image });
  const moved = { kernelReference: { symbol: '_text', address: -0x6f00_0000 } };
  const { table, codes } = await load(driver, KERNEL, moved);
  assert.deepEqual(codes, []);
  assert.equal(table!.name(table!.lookup(-0x6f00_0000 + 20)), 'schedule');
  assert.deepEqual((await load(driver, { ...KERNEL, buildId: OTHER_ID })).codes, ['kernel-not-found']);
});

test('JIT code: the map of the process, or how to get one', async () => {
  const jit = { path: '/tmp/perf-7.map', kind: 'jit', buildId: '' } as const;
  const driver = new MemoryDriver({ 'perf-map /tmp/perf-7.map': '1000 10 a b\nnonsense\n' });
  const { table, codes } = await load(driver, jit);
  assert.deepEqual([names(table), codes], [['a b'], ['perf-map-damaged']]);
  const none = await load(new MemoryDriver(), jit);
  assert.deepEqual(none.codes, ['no-perf-map']);
  // The map that travels with the recording comes first; where it is damaged, there is still this one.
  const recorded = memorySource(new TextEncoder().encode('1000 10 recorded\n'));
  const first = await load(driver, { ...jit, pid: 7 }, { recordedFile: async () => recorded });
  assert.deepEqual([names(first.table), first.codes], [['recorded'], []]);
  const damaged = async () => {
    throw new FormatError('ERR_RECORDED_FILES', 0, 'a file', 'none');
  };
  const second = await load(driver, { ...jit, pid: 7 }, { recordedFile: damaged });
  assert.deepEqual(
    [names(second.table), second.codes],
    [['a b'], ['recorded-map-damaged', 'perf-map-damaged']],
  );
  assert.match(none.diagnostics[0]!.remedy, /--perf-basic-prof/);
});

test('a perf map is read in pieces, whatever its size', async () => {
  const lines = Array.from(
    { length: 200_000 },
    (_, line) => `${(0x1000 + line * 16).toString(16)} 10 f${line}`,
  );
  const driver = new MemoryDriver({ 'perf-map /tmp/perf-7.map': lines.join('\n') });
  const open = driver.open.bind(driver);
  let most = 0;
  driver.open = async (request) => {
    const file = await open(request);
    if (file === null) return null;
    const read = async (offset: number, length: number) => {
      most = Math.max(most, length);
      return file.read(offset, length);
    };
    return { ...file, read };
  };
  const { table, codes } = await load(driver, { path: '/tmp/perf-7.map', kind: 'jit' });
  assert.deepEqual(codes, []);
  assert.equal(table?.length, lines.length);
  assert.equal(table?.name(table.lookup(0x1000 + 150_000 * 16 + 3)), 'f150000');
  assert.ok(most > 0 && most <= 1 << 20, `${most} bytes at once`);
});

test('.gnu_debugdata that claims far more than its bytes can hold is refused before it takes the memory', {
  skip: spawnSync('xz', ['--version']).status === 0 ? false : 'xz is not installed',
}, async () => {
  const { stdout } = spawnSync('xz', ['-9', '--check=crc32'], {
    input: new Uint8Array(64 << 20),
    maxBuffer: 1 << 20,
  });
  const app = binary('', {
    sections: [{ name: '.gnu_debugdata', type: 1, bytes: new Uint8Array(stdout) }],
  });
  const { diagnostics } = await load(new MemoryDriver({ 'binary /bin/app': app }), {});
  const damaged = diagnostics.find(({ code }) => code === 'debugdata-damaged');
  assert.match(damaged?.detail ?? '', /expected at most \d{7} bytes, found more/);
});
