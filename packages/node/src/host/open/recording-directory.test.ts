import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { counterpoint } from '../../test/command-line.ts';
import { besideCuts } from '../../test/losses.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../test/perf.ts';
import { openRecording } from './index.ts';

const noPerf = perfIsMissing();
const WORK = [
  'sh',
  '-c',
  'for i in 1 2 3 4 5 6 7 8; do ls -R /usr/include /usr/share/doc >/dev/null 2>&1 & done; wait',
];

/** Why `perf record --threads` cannot run here, or false. */
function noThreads(path: string, ...options: string[]): string | false {
  const words = [
    'record',
    '-q',
    '--threads',
    '-e',
    'cpu-clock:u',
    '-F',
    '2000',
    '-g',
    ...options,
    '-o',
    path,
    '--',
    ...WORK,
  ];
  const { status, stderr } = spawnSync('perf', words, { encoding: 'utf8' });
  const made = status === 0 && readdirSync(path).some((name) => /^data\.\d+$/.test(name));
  return made ? false : `perf record --threads makes no directory here: ${stderr}`;
}

test('what perf record --threads makes is read as perf reads it, compressed or not', {
  skip: noPerf,
}, async (t) => {
  const folder = temporaryFolder(t);
  for (const [name, ...options] of [['plain'], ['packed', '-z']] as const) {
    const path = join(folder, name);
    const reason = noThreads(path, ...options);
    if (reason !== false) {
      t.skip(reason);
      return;
    }
    const fields = ['-F', 'comm,tid,time,event,ip', '-G', '--ns'];
    const { out, status, err } = await counterpoint('script', '-i', path, ...fields);
    assert.equal(status, 0, err);
    assert.equal(out, perf('script', '-i', path, ...fields));
    await using recording = await openRecording(path);
    const stats = await recording.stats();
    assert.equal(stats.samples, out.split('\n').length - 1);
    assert.ok(stats.samples > 0);
    assert.deepEqual([besideCuts(stats.loss), stats.damage], [[], []]);
    let samples = 0;
    for await (const { record } of recording.records()) if ('sample' in record) samples++;
    assert.equal(samples, stats.samples);
    const { profile } = await recording.profile();
    assert.equal(profile.samples.length, samples);
    // The header that stands in it is the same recording.
    await using byHeader = await openRecording(join(path, 'data'));
    assert.equal((await byHeader.stats()).samples, samples);
    for (const words of [['report'], ['report', '--stats'], ['export', '-f', 'folded', '-o', '-']]) {
      const answer = await counterpoint(...words, '-i', path);
      assert.equal(answer.status, 0);
      assert.doesNotMatch(answer.out, /No samples/);
    }
  }
});

test('files that are missing, cut, linked or no files are said, and nothing outside is read', {
  skip: noPerf,
}, async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'whole');
  const reason = noThreads(path);
  if (reason !== false) {
    t.skip(reason);
    return;
  }
  const rings = readdirSync(path).filter((name) => name !== 'data');
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'secret'.repeat(1000));
  const changes: Record<string, (path: string) => void> = {
    'is missing': (file) => rmSync(file),
    'is a link, which is not followed': (file) => {
      rmSync(file);
      symlinkSync(secret, file);
    },
    'is no regular file': (file) => {
      rmSync(file);
      assert.equal(spawnSync('mkfifo', [file]).status, 0);
    },
  };
  for (const [words, change] of Object.entries(changes)) {
    const copy = join(folder, words);
    cpSync(path, copy, { recursive: true });
    change(join(copy, rings[0]!));
    const { status, out } = await counterpoint('report', '--stats', '--fail-on-loss', '-i', copy);
    assert.equal(status, 3, words);
    assert.match(
      out,
      new RegExp(`Lost: damage: a file of the recording ${words} \\(${rings[0]!.replace('.', '\\.')}\\)`),
    );
    assert.match(out, /Lost: 1 files? of the recording/);
  }
  const cut = join(folder, 'cut');
  cpSync(path, cut, { recursive: true });
  // The rest of it still has samples.
  const size = (name: string) => statSync(join(cut, name)).size;
  const longest = rings.reduce((most, name) => (size(name) > size(most) ? name : most));
  truncateSync(join(cut, longest), size(longest) - 4);
  const answer = await counterpoint('report', '--stats', '--fail-on-loss', '-i', cut);
  assert.equal(answer.status, 3);
  assert.match(answer.out, new RegExp(`a record is cut off, at byte \\d+ of ${longest.replace('.', '\\.')}`));
});

test('a directory that is no recording is refused with what to do', async (t) => {
  const folder = temporaryFolder(t);
  await assert.rejects(openRecording(folder), { code: 'ERR_DIRECTORY' });
  const linked = join(folder, 'linked');
  mkdirSync(linked);
  symlinkSync('/etc/hostname', join(linked, 'data'));
  await assert.rejects(openRecording(linked), { code: 'ERR_DIRECTORY', message: /link-not-followed/ });
  const { status, err } = await counterpoint('report', '-i', folder);
  assert.equal(status, 1);
  assert.match(err, /is a directory without a recording: it has no file `data`/);
});
