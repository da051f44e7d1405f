import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { writeScript } from '@counterpoint/core/query';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { ExecutionEncoder, ptRecording, RandomWalk } from '../../pt/index.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { DecodingLog } from './decoding-log.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const disk: SymbolDriver = {
  open: async ({ need, path }) =>
    need === 'binary' && existsSync(path) ? memorySource(new Uint8Array(readFileSync(path))) : null,
};
const NO_PROGRAMS = 'no gzip and libc for x86-64 here';
const DAMAGED_AT = 0x800;

/** Instructions of gzip and libc, damaged in the middle where that is asked for. */
async function recording(isDamaged: boolean): Promise<Uint8Array<ArrayBuffer> | null> {
  const programs = await loadPrograms();
  if (programs === null) return null;
  const { image, code, entries } = programs;
  const encoding = { tsc: true, mtc: true, cyc: true, longTnt: true };
  const encoder = new ExecutionEncoder(
    image,
    new RandomWalk({ seed: 5, entries, interruptEvery: 60 }),
    encoding,
  );
  const trace = joinChunks(encoder.chunks({ instructions: 20_000 }));
  if (isDamaged) trace.fill(0xff, DAMAGED_AT, DAMAGED_AT + 16);
  const mappings = code.map(({ path, address, sizeBytes, offset }) => ({
    path,
    address,
    sizeBytes,
    fileOffset: offset,
  }));
  return writePerfData(ptRecording({ pid: 4242, comm: 'walk', mappings, trace, encoding }));
}

async function logOf(
  bytes: Uint8Array<ArrayBuffer>,
  letters: string,
): Promise<{ log: string; samples: number }> {
  const source = memorySource(bytes);
  let log = '';
  const { samples } = await writeScript(
    withTrace(await openPerfData(source), {
      bytes: source,
      files: disk,
      options: parseItrace(letters),
      writeLog: (text) => {
        log += text;
      },
    }),
    {
      symbols: disk,
    },
    () => {},
  );
  return { log, samples };
}

/**
 * Offset and bytes of each packet; both logs have these columns. The last is left out:
 * perf adds the PADs behind it.
 */
const packetsIn = (log: string): string[] =>
  [...log.matchAll(/^ {2}([0-9a-f]{8}): {2}((?:[0-9a-f]{2} )*[0-9a-f]{2})(?: |$)/gm)]
    .map(([, offset, bytes]) => `${offset} ${bytes}`)
    .filter((packet) => !packet.endsWith(' 00') || packet.length > 11)
    .slice(0, -1);

test("a log has perf's packets, and every instruction", { skip: noPerf }, async (context) => {
  const bytes = await recording(false);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const theirs = packetsIn(perf(['script', '-i', folder.file('log.data', bytes), '--itrace=d+o']).stdout);
  assert.ok(theirs.length > 1000);
  const { log, samples } = await logOf(bytes, 'd');
  assert.equal(samples, 0);
  assert.deepEqual(packetsIn(log), theirs);
  assert.equal(log.match(/^ {9,}[0-9a-f]+: {2}/gm)?.length, 20_009);
  assert.match(log, /^record COMM 4242\/4242 /m);
  assert.match(log, /^time 595\.\d{9}, tsc 123456789ab$/m);
  assert.doesNotMatch((await logOf(bytes, 'd-a')).log, /^record /m);
  // Quickly only the packets are looked at.
  const quick = await logOf(bytes, 'dq');
  assert.deepEqual(packetsIn(quick.log), theirs);
  assert.doesNotMatch(quick.log, /^ {9,}[0-9a-f]+: {2}/m);
  // Samples are the same with a log and without.
  assert.equal((await logOf(bytes, 'di100i')).samples, (await logOf(bytes, 'i100i')).samples);
});

test('errors stand in the log where they were met, with where decoding went on; d+e has only what was before them', async (context) => {
  const bytes = await recording(true);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const { log } = await logOf(bytes, 'd');
  assert.match(log, /^error at 800, address [0-9a-f]+: unknown packet$/m);
  assert.match(log, /^synchronization point at 1001, 2049 bytes after the last packet left out$/m);
  const few = (await logOf(bytes, 'd+e')).log;
  assert.match(few, /^--- before an error of queue 0, thread 4242 ---\n/);
  assert.match(few, /unknown packet\n/);
  assert.doesNotMatch(few, /synchronization point at 1001/);
  assert.ok(few.length < 20_000 && few.length > 10_000);
});

test('only around errors: what is kept is bounded, however much is told', () => {
  const pieces: string[] = [];
  const log = new DecodingLog((text) => pieces.push(text), true);
  log.setHeading('queue 0');
  for (let line = 0; line < 200_000; line++) log.line(`line ${line}`);
  assert.equal(pieces.length, 0);
  log.error('wrong');
  log.close();
  assert.equal(pieces.length, 1);
  const [text] = pieces as [string];
  assert.ok(text.length <= 16_384 + 40, String(text.length));
  assert.match(text, /\nline 199999\nwrong\n$/);
});
