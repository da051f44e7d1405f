import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { corpusUrl, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import { pipeTwin } from '../../../../core/src/test/pipe-twin.ts';
import { counterpoint } from '../../test/command-line.ts';
import { temporaryFolder } from '../../test/perf.ts';
import { peekStream } from './peeked-stream.ts';

const TRACED = fileURLToPath(corpusUrl('perfdata/quipper/perf.data.intel_pt-4.14'));
const fixture = (name: string) =>
  new Uint8Array(readFileSync(new URL(`../../../../../fixtures/perfdata/${name}.data`, import.meta.url)));

async function* inPieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function whole(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** AUXTRACE_INFO and an empty body. */
const INFO = Uint8Array.of(70, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0);

test('the word on a trace is found before the first record of the kernel, in any pieces, and no byte is lost', async () => {
  // Attrs, names, features, trace metadata, then COMM.
  const plain = fixture('pipe');
  const metadata = 16;
  const view = new DataView(plain.buffer);
  let firstRecord = metadata;
  while (view.getUint32(firstRecord, true) >= 64) {
    const size = view.getUint16(firstRecord + 6, true);
    const isTracing = view.getUint32(firstRecord, true) === 66;
    firstRecord += size + (isTracing ? Math.ceil(view.getUint32(firstRecord + 8, true) / 8) * 8 : 0);
  }
  const traced = Buffer.concat([plain.subarray(0, firstRecord), INFO, plain.subarray(firstRecord)]);
  const late = Buffer.concat([plain, INFO]);
  for (const size of [1, 7, 16, 1000, 1 << 20]) {
    for (const [bytes, expected] of [
      [plain, false],
      [traced, true],
      [late, false],
      [plain.subarray(0, 100), false],
      [new Uint8Array(), false],
      [fixture('plain'), false],
    ] as const) {
      const { hasTrace, bytes: stream } = await peekStream(inPieces(bytes, size));
      assert.equal(hasTrace, expected);
      assert.deepEqual(await whole(stream), Buffer.from(bytes));
    }
  }
});

test('a trace that comes through a pipe is decoded as that of the file', {
  skip: lacksCorpus('perfdata/quipper/'),
}, async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'perf.data');
  writeFileSync(file, (await pipeTwin(new Uint8Array(readFileSync(TRACED))))!);
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  for (const words of [
    ['script'],
    ['report'],
    ['export', '-f', 'folded', '-o', '-'],
    ['report', '--stats'],
    ['report', '--no-itrace'],
  ]) {
    const asFile = await counterpoint(...words, '-i', file);
    const writer = spawn('sh', ['-c', 'cat "$1" > "$2"', 'sh', file, pipe]);
    const asPipe = await counterpoint(...words, '-i', pipe);
    writer.kill();
    assert.equal(asPipe.out, asFile.out, words.join(' '));
    assert.equal(asPipe.status, asFile.status);
    if (words.length === 1) assert.match(asPipe.out, /psb|branches|instructions/);
  }
});
