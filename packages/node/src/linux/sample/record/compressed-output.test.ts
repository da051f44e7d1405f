/** Compressed recordings: both compressors, read by fzstd, by perf and by us. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PERF_RECORD_COMPRESSED } from '@counterpoint/core/abi';
import { Decompress } from 'fzstd';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { CompressedOutput } from './compressed-output.ts';
import type { RecordingOutput } from './output.ts';
import { type Compressor, libraryCompressor, nodeCompressor, openCompressor } from './zstd-compressor.ts';

/** Each Node has one of them. */
const COMPRESSORS: readonly [string, Compressor | null][] = [
  ['libzstd', libraryCompressor(3)],
  ['Node', nodeCompressor(3)],
];

/** An output that remembers its rounds. */
function memoryOutput(rounds: Uint8Array[]): RecordingOutput {
  return {
    sizeBytes: 0,
    hasLateRecords: false,
    begin() {},
    writeRecords() {},
    writeRound: (spans) => void rounds.push(new Uint8Array(Buffer.concat(spans))),
    finish: () => 0,
    close() {},
  };
}

/** The bodies of COMPRESSED records that stand one behind the other. */
function bodiesOf(round: Uint8Array): Uint8Array[] {
  const view = new DataView(round.buffer, round.byteOffset, round.length);
  const bodies: Uint8Array[] = [];
  for (let at = 0; at < round.length; at += view.getUint16(at + 6, true)) {
    assert.equal(view.getUint32(at, true), PERF_RECORD_COMPRESSED);
    assert.ok(view.getUint16(at + 6, true) > 8);
    bodies.push(round.slice(at + 8, at + view.getUint16(at + 6, true)));
  }
  return bodies;
}

for (const [name, compressor] of COMPRESSORS)
  describe(`compressed by ${name}`, () => {
    if (compressor === null) return;
    test('each round is whole when it is written, whether it can be made small or not', async () => {
      const rounds: Uint8Array[] = [];
      const output = new CompressedOutput(memoryOutput(rounds), compressor, 3);
      const made: Buffer[] = [];
      const reader = new Decompress((piece) => void made.push(Buffer.from(piece)));
      // More than one record, more than one piece, nothing, and what is like the round before.
      const random = randomBytes(3 * 2 ** 20 + 17);
      for (const spans of [
        [Buffer.from('a text that is longer than a block header')],
        [random, random.subarray(5, 99)],
        [Buffer.alloc(2 ** 20)],
        [random],
      ]) {
        made.length = 0;
        await output.writeRound(spans.map((span) => new Uint8Array(span)));
        for (const body of bodiesOf(rounds.pop()!)) reader.push(body);
        assert.ok(Buffer.concat(made).equals(Buffer.concat(spans)));
      }
      output.close();
      output.close();
    });
  });

test('there is one', () => assert.ok(COMPRESSORS.some(([, compressor]) => compressor !== null)));

test('without any compressor the remedy names both', () => {
  assert.throws(() => openCompressor(1, []), { code: 'ERR_NO_ZSTD', remedy: /Node 22.15.*libzstd1/ });
  assert.throws(() => openCompressor(1, [() => null]), { code: 'ERR_NO_ZSTD' });
});

const skip = perfIsMissing();

describe('record -z', { skip }, () => {
  const words = ['-e', 'cpu-clock:u', '-F', '20000', '-g'];
  const command = ['sh', '-c', 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'];

  test('perf reads what it reads of an uncompressed one, and says how it is compressed', async (t) => {
    const folder = temporaryFolder(t);
    const [packed, plain] = [join(folder, 'packed'), join(folder, 'plain')];
    const own = await counterpoint('record', '-q', '-z9', '-o', packed, ...words, '--', ...command);
    assert.equal(own.status, 0, own.err);
    const { events, records } = JSON.parse(
      (await counterpoint('report', '--stats', '--json', '-i', packed)).out,
    );
    assert.ok(events[0].samples > 100, `${events[0].samples} samples`);
    assert.ok(records.COMPRESSED > 0);
    const theirs = perf('script', '-i', packed, '-F', 'pid,time,ip').match(/^\s*\d+ +[\d.]+:/gm) ?? [];
    assert.equal(theirs.length, events[0].samples);
    assert.equal(
      (await counterpoint('script', '-i', packed, '-F', 'pid,time,ip')).out,
      perf('script', '-i', packed, '-F', 'pid,time,ip'),
    );
    assert.match(perf('report', '--header-only', '-i', packed), /compressed : Zstd, level = 9, ratio = \d+/);
    await counterpoint('record', '-q', '-o', plain, ...words, '--', ...command);
    const perSample = async (data: string) => {
      const stats = JSON.parse((await counterpoint('report', '--stats', '--json', '-i', data)).out);
      return statSync(data).size / stats.events[0].samples;
    };
    assert.ok((await perSample(packed)) < (await perSample(plain)));
  });

  test('levels are from 1 to 22', async () => {
    const { status, err } = await counterpoint('record', '-z23', '--plan', 'true');
    assert.equal(status, 129);
    assert.match(err, /1 to 22|at most 22/);
  });
});
