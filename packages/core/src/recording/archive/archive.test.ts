import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ByteSource, memorySource } from '../../base/index.ts';
import type { FileRequest } from '../../code/symbols/index.ts';
import { openArchive, writeArchive } from './index.ts';

const ID = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
const bytesOf = (text: string) => memorySource(new TextEncoder().encode(text));
const textOf = async (source: ByteSource | null) =>
  source === null ? null : new TextDecoder().decode(await source.read(0, source.size));
const request = (need: FileRequest['need'], path: string, buildId = '', pid = 7): FileRequest => ({
  need,
  path,
  buildId,
  pid,
  required: true,
});

/** Longer than a field of a tar. */
const LONG = `/opt/${'a-long-folder/'.repeat(12)}program`;

async function archiveBytes(): Promise<Uint8Array<ArrayBuffer>> {
  const files = [
    { request: request('binary', '/usr/bin/ls', ID), bytes: bytesOf('the binary') },
    { request: request('debug', '/usr/bin/ls', ID), bytes: bytesOf('its lines') },
    { request: request('binary', LONG, `${ID}00`), bytes: bytesOf('x'.repeat(3000)) },
    { request: request('kallsyms', '', 'abcd', -1), bytes: bytesOf('ffff T _text\n') },
    { request: request('perf-map', '/tmp/perf-7.map'), bytes: bytesOf('1000 10 hot\n') },
    { request: request('binary', '/no/build-id'), bytes: bytesOf('nameless') },
  ];
  const pieces: Uint8Array[] = [];
  for await (const piece of writeArchive(bytesOf('PERFILE2'), files, 1_700_000_000))
    pieces.push(piece.slice());
  return new Uint8Array(Buffer.concat(pieces));
}

describe('archives', () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const form of ['plain', 'gzip'])
    test(`what was put in comes out, ${form}`, async () => {
      const bytes = await archiveBytes();
      const archive = await openArchive(
        memorySource(form === 'gzip' ? new Uint8Array(gzipSync(bytes)) : bytes),
      );
      const ask = async (question: FileRequest) => textOf(await archive.symbols.open(question, []));
      assert.equal(archive.isCut, false);
      assert.equal(await textOf(archive.recording), 'PERFILE2');
      assert.equal(await ask(request('binary', '/elsewhere/ls', ID, 99)), 'the binary');
      assert.equal(await ask(request('debug', '/usr/bin/ls', ID)), 'its lines');
      assert.equal((await ask(request('binary', LONG, `${ID}00`)))?.length, 3000);
      assert.equal(await ask(request('kallsyms', '', 'abcd', -1)), 'ffff T _text\n');
      assert.equal(await ask(request('perf-map', '/tmp/perf-7.map', '', 7)), '1000 10 hot\n');
      assert.equal(await ask(request('perf-map', '/tmp/perf-8.map', '', 8)), null);
      assert.equal(await ask(request('binary', '/no/build-id')), 'nameless');
      assert.equal(await ask(request('binary', '/other')), null);
      assert.ok(archive.binaries.some(({ path, buildId }) => path === LONG && buildId === `${ID}00`));
      assert.ok(
        archive.binaries.some(({ path, name }) => path === '[kernel.kallsyms]' && name === 'kallsyms'),
      );
    });

  test('GNU tar unpacks it: links lead to the files', async () => {
    const path = join(folder, 'ours.tar');
    writeFileSync(path, await archiveBytes());
    const place = join(folder, 'unpacked');
    mkdirSync(place);
    execFileSync('tar', ['xf', path, '-C', place]);
    const link = join(place, '.build-id', ID.slice(0, 2), ID.slice(2));
    assert.equal(readFileSync(join(link, 'elf'), 'utf8'), 'the binary');
    assert.equal(readFileSync(join(link, 'debug'), 'utf8'), 'its lines');
    assert.equal(readFileSync(join(place, LONG, `${ID}00`, 'elf'), 'utf8').length, 3000);
    assert.equal(readFileSync(join(place, 'counterpoint/perf.data'), 'utf8'), 'PERFILE2');
  });

  for (const format of ['gnu', 'ustar', 'posix'])
    test(`what GNU tar makes is read, ${format}`, async () => {
      const place = join(folder, format);
      const inside = format === 'ustar' ? 'usr/bin/ls' : LONG.slice(1);
      mkdirSync(join(place, inside, ID), { recursive: true });
      mkdirSync(join(place, '.build-id', ID.slice(0, 2)), { recursive: true });
      writeFileSync(join(place, inside, ID, 'elf'), 'the binary');
      symlinkSync(`../../${inside}/${ID}`, join(place, '.build-id', ID.slice(0, 2), ID.slice(2)));
      const path = join(folder, `${format}.tar`);
      execFileSync('tar', ['cf', path, `--format=${format}`, '-C', place, '.']);
      const archive = await openArchive(memorySource(new Uint8Array(readFileSync(path))));
      assert.equal(archive.recording, null);
      assert.deepEqual(archive.binaries, [{ buildId: ID, path: `/${inside}`, name: 'elf' }]);
      assert.equal(await textOf(archive.file(ID, 'elf')), 'the binary');
    });

  test('a link out of the archive is none', async () => {
    const place = join(folder, 'enemy');
    mkdirSync(join(place, '.build-id', ID.slice(0, 2)), { recursive: true });
    mkdirSync(join(place, 'counterpoint'));
    writeFileSync(join(place, 'counterpoint', 'perf.data'), 'PERFILE2');
    symlinkSync(`../../../../../etc/${ID}`, join(place, '.build-id', ID.slice(0, 2), ID.slice(2)));
    const path = join(folder, 'enemy.tar');
    execFileSync('tar', ['cf', path, '-C', place, '.']);
    const archive = await openArchive(memorySource(new Uint8Array(readFileSync(path))));
    assert.deepEqual(archive.binaries, []);
    assert.equal(await archive.symbols.open(request('binary', '/etc/passwd', ID), []), null);
  });

  test('what is cut off says so, and has what is there', async () => {
    const bytes = await archiveBytes();
    const archive = await openArchive(memorySource(bytes.slice(0, 6000)));
    assert.equal(archive.isCut, true);
    assert.equal(await textOf(archive.recording), 'PERFILE2');
    await assert.rejects(openArchive(bytesOf('x'.repeat(1000))), { code: 'ERR_ARCHIVE' });
    const half = new Uint8Array(gzipSync(bytes)).slice(0, 200);
    await assert.rejects(openArchive(memorySource(half)), { code: 'ERR_ARCHIVE' });
  });
});
