import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CounterpointError, memorySource } from '../../base/index.ts';
import { fuzz } from '../../test/fuzz.ts';
import { mutate } from '../../test/mutate.ts';
import { openArchive, writeArchive } from './index.ts';

const ID = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';

async function sample(): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = memorySource(new Uint8Array(700).fill(0x41));
  const row = (need: 'binary' | 'perf-map', path: string, buildId: string) => ({
    request: { need, path, buildId, pid: 1 },
    bytes,
  });
  const long = `/opt/${'long/'.repeat(40)}x`;
  const files = [
    row('binary', '/usr/bin/ls', ID),
    row('binary', long, `${ID}00`),
    row('perf-map', '/tmp/x', ''),
  ];
  const pieces: Uint8Array[] = [];
  for await (const piece of writeArchive(bytes, files, 1)) pieces.push(piece.slice());
  return new Uint8Array(Buffer.concat(pieces));
}

test('damaged archives: an answer or an error with a code, and no byte outside of them', async () => {
  const plain = await sample();
  let input: Uint8Array<ArrayBuffer> = new Uint8Array();
  const cases = await fuzz(
    'archive',
    async (random) => {
      input = mutate(plain, random);
      if (random.oneIn(4)) input = mutate(new Uint8Array(gzipSync(plain)), random);
      try {
        const archive = await openArchive(memorySource(input));
        for (const { buildId, path, name } of archive.binaries) {
          assert.ok(path.startsWith('/') || path.startsWith('['), path);
          const file = archive.file(buildId, name);
          assert.ok(file === null || (await file.read(0, file.size)).length <= file.size);
        }
        const { recording } = archive;
        if (recording !== null)
          assert.ok((await recording.read(0, recording.size + 9)).length <= recording.size);
      } catch (error) {
        if (!(error instanceof CounterpointError)) throw error;
      }
    },
    () => input,
  );
  assert.ok(cases === null || cases > 5, `only ${cases} cases`);
});
