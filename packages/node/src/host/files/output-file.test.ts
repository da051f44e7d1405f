import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type OutputFileOptions, openOutputFile, openOutputFileSync } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-files-'));
after(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const OTHER = 65534;
const asRoot = { skip: process.geteuid?.() === 0 ? false : 'only root can give files to another user' };

async function put(path: string, text: string, options: OutputFileOptions = {}): Promise<void> {
  const fd = await openOutputFile(path, options);
  try {
    writeSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

test('a new file, an own one, and an own one that grows', async () => {
  const path = at('new');
  await put(path, 'one', { mode: 0o600 });
  assert.equal(lstatSync(path).mode & 0o777, 0o600);
  const { ino } = lstatSync(path);
  await put(path, 'two');
  assert.deepEqual([readFileSync(path, 'utf8'), lstatSync(path).ino], ['two', ino]);
  await put(path, ' three', { append: true });
  assert.equal(readFileSync(path, 'utf8'), 'two three');
  await assert.rejects(put(at('none/file'), ''), { code: 'ENOENT' });
  await assert.rejects(put(folder, ''), { code: 'EISDIR' });
});

test('own links are followed, also to what is not there yet; a link to itself is not', async () => {
  symlinkSync('target', at('link'));
  symlinkSync('link', at('link-to-link'));
  await put(at('link-to-link'), 'text');
  assert.equal(readFileSync(at('target'), 'utf8'), 'text');
  assert.ok(lstatSync(at('link')).isSymbolicLink());
  symlinkSync('loop', at('loop'));
  await assert.rejects(put(at('loop'), ''), { code: 'ERR_FILE_CHANGED' });
});

test('devices and open descriptors are what the user asked for', async () => {
  await put('/dev/null', 'text');
  const path = at('given');
  const fd = openSync(path, 'w');
  symlinkSync(`/proc/self/fd/${fd}`, at('stdout'));
  await put(at('stdout'), 'text');
  closeSync(fd);
  assert.equal(readFileSync(path, 'utf8'), 'text');
});

test('a pipe without reader is waited for, and the waiting can be ended', async () => {
  const path = at('pipe');
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  assert.throws(() => openOutputFileSync(path), { code: 'ERR_NO_READER' });
  const stop = new AbortController();
  let waits = 0;
  const onWait = () => {
    waits++;
    stop.abort();
  };
  await assert.rejects(openOutputFile(path, { signal: stop.signal, onWait }), { name: 'AbortError' });
  assert.equal(waits, 1);
  const waiting = openOutputFile(path);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = await waiting;
  writeSync(fd, 'text');
  closeSync(fd);
  assert.equal(readFileSync(reader, 'utf8'), 'text');
  closeSync(reader);
});

describe('what another user put there', asRoot, () => {
  test('a file is replaced, and what they have open gets nothing', async () => {
    const path = at('theirs');
    writeFileSync(path, '', { mode: 0o666 });
    chownSync(path, OTHER, OTHER);
    const theirs = openSync(path, 'r');
    await put(path, 'secret', { mode: 0o600 });
    assert.equal(fstatSync(theirs).size, 0);
    closeSync(theirs);
    const { uid, mode } = lstatSync(path);
    assert.deepEqual([uid, mode & 0o777, readFileSync(path, 'utf8')], [0, 0o600, 'secret']);
  });

  test('nothing is appended to a file', async () => {
    const path = at('their-log');
    writeFileSync(path, 'before');
    chownSync(path, OTHER, OTHER);
    await assert.rejects(put(path, 'x', { append: true }), { code: 'ERR_OUTPUT_OWNER' });
    assert.equal(readFileSync(path, 'utf8'), 'before');
  });

  test('a link is not followed, wherever it leads', async () => {
    const path = at('their-link');
    const victim = at('victim');
    writeFileSync(victim, 'important');
    symlinkSync(victim, path);
    lchownSync(path, OTHER, OTHER);
    await put(path, 'text');
    assert.equal(readFileSync(victim, 'utf8'), 'important');
    assert.ok(lstatSync(path).isFile());
    // An own link to theirs, too.
    rmSync(path);
    symlinkSync(victim, path);
    lchownSync(path, OTHER, OTHER);
    symlinkSync(path, at('mine'));
    await put(at('mine'), 'text');
    assert.equal(readFileSync(victim, 'utf8'), 'important');
  });

  test('a second name of an own file, in a directory where others make names', async () => {
    const shared = at('shared');
    spawnSync('mkdir', ['-m', '1777', shared]);
    writeFileSync(at('victim-2'), 'important');
    linkSync(at('victim-2'), join(shared, 'out'));
    await put(join(shared, 'out'), 'text');
    assert.equal(readFileSync(at('victim-2'), 'utf8'), 'important');
    // In a directory of one's own it is one's own doing.
    linkSync(at('victim-2'), at('second-name'));
    await put(at('second-name'), 'text');
    assert.equal(readFileSync(at('victim-2'), 'utf8'), 'text');
  });

  test('a pipe in a directory to which everybody can write is refused', async () => {
    const shared = at('shared-2');
    spawnSync('mkdir', ['-m', '1777', shared]);
    const pipe = join(shared, 'pipe');
    spawnSync('mkfifo', [pipe]);
    chownSync(pipe, OTHER, OTHER);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    assert.throws(() => openOutputFileSync(pipe), { code: 'ERR_OUTPUT_OWNER' });
    chmodSync(shared, 0o755);
    closeSync(openOutputFileSync(pipe));
    closeSync(reader);
  });

  test('what cannot be replaced is an error that says whose it is', async () => {
    const shared = at('shared-3');
    spawnSync('mkdir', ['-m', '1777', shared]);
    const path = join(shared, 'out');
    writeFileSync(path, '', { mode: 0o666 });
    const script = `
      const { openOutputFileSync } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
      process.setgroups([]); process.setgid(${OTHER}); process.setuid(${OTHER});
      try { openOutputFileSync(${JSON.stringify(path)}); console.log('opened'); }
      catch (error) { console.log(error.code, error.message); }`;
    chownSync(path, OTHER - 1, OTHER - 1);
    chmodSync(folder, 0o755);
    const options = ['--import', import.meta.resolve('tsx'), '--conditions=counterpoint-source'];
    const run = () =>
      spawnSync(process.execPath, [...options, '--input-type=module', '-e', script], { encoding: 'utf8' })
        .stdout;
    assert.match(run(), new RegExp(`^ERR_OUTPUT_OWNER .*user ${OTHER - 1} and cannot be replaced \\(E`));
    // Root could do anything to us anyway.
    chownSync(path, 0, 0);
    chmodSync(path, 0o666);
    assert.match(run(), /^opened/);
    assert.ok(existsSync(path));
  });
});
