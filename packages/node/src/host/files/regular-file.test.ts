import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { NOBODY } from '../../test/ordinary-user.ts';
import { WaitingWriter } from '../../test/waiting-writer.ts';
import { NamedFile, openRegularFile, openRegularFileSync } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-files-'));
after(() => rmSync(folder, { recursive: true }));

const REFUSED = { code: 'ERR_NOT_A_FILE' };

test('a pipe is refused without being opened: its writer still waits', async () => {
  const writer = await WaitingWriter.at(join(folder, 'pipe'));
  await assert.rejects(openRegularFile(writer.path), REFUSED);
  await assert.rejects(openRegularFile(writer.path, { recorded: true }), REFUSED);
  assert.throws(() => openRegularFileSync(writer.path), REFUSED);
  await writer.assertUnopened();
});

test('devices, directories and sockets are refused, links to them too; missing files by the error of the system', async () => {
  symlinkSync('/dev/zero', join(folder, 'zero'));
  for (const path of ['/dev/zero', join(folder, 'zero'), folder])
    await assert.rejects(openRegularFile(path), REFUSED);
  await assert.rejects(openRegularFile(join(folder, 'none')), { code: 'ENOENT', path: join(folder, 'none') });
});

test('files that the kernel makes up are refused where a recording names them, and read where a user does', async () => {
  for (const path of [
    '/proc/self/status',
    '/proc/version',
    '/sys/kernel/notes',
    '/sys/kernel/tracing/trace_pipe',
  ]) {
    if (!existsSync(path)) continue;
    await assert.rejects(openRegularFile(path, { recorded: true }), REFUSED);
    assert.throws(() => openRegularFileSync(path, { recorded: true }), REFUSED);
  }
  await (await openRegularFile('/proc/self/status')).close();
  // A link of /proc that leads to an ordinary file is that file.
  const own = join(folder, 'own');
  writeFileSync(own, 'text');
  const handle = await openRegularFile(own, { recorded: true });
  await (await openRegularFile(`/proc/self/fd/${handle.fd}`, { recorded: true })).close();
  await handle.close();
});

test('what was looked at is what is opened, whatever its name leads to by then', async () => {
  const path = join(folder, 'changing');
  writeFileSync(path, 'first');
  using file = new NamedFile(path);
  writeFileSync(`${path}.new`, 'second');
  renameSync(`${path}.new`, path);
  assert.equal(file.isStillThere(), false);
  const handle = await file.open();
  assert.equal(await handle.readFile('utf8'), 'first');
  await handle.close();
  const fd = file.openSync();
  assert.equal(readFileSync(fd, 'utf8'), 'first');
  closeSync(fd);
});

test('a file that may not be read is refused by its own name', async (t) => {
  const path = join(folder, 'closed');
  writeFileSync(path, '', { mode: 0 });
  // Root may read everything.
  if (process.geteuid!() === 0) {
    chmodSync(folder, 0o755);
    process.seteuid!(NOBODY);
    t.after(() => process.seteuid!(0));
  }
  await assert.rejects(openRegularFile(path), { code: 'EACCES', path });
  assert.throws(() => openRegularFileSync(path), { code: 'EACCES', path });
});

test('this machine’s /proc is known by the number of its file system', () => {
  assert.equal(statfsSync('/proc').type, 0x9fa0);
});
