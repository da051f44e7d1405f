import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStats, type StatsAnswer } from '../../../answers/index.ts';
import { FormatError, memorySource } from '../../../base/index.ts';
import { PERF_RECORD_FINISHED_INIT, PERF_RECORD_FINISHED_ROUND } from '../../../format/abi/index.ts';
import { corpusFiles } from '../../../test/corpus.ts';
import { fixtureRecordings } from '../../../test/fixture-recordings.ts';
import { openPerfData } from './index.ts';

const PIPE_SIZE = 16;

interface Cut {
  stats: StatsAnswer | null;
  /** Where the data ends by the header; 0 for pipes, which do not say. */
  dataEnd: number;
  /** Of a pipe: where a whole one can end, behind a mark. */
  ends: ReadonlySet<number>;
}

async function read(bytes: Uint8Array<ArrayBuffer>): Promise<StatsAnswer | null> {
  try {
    return await collectStats(await openPerfData(memorySource(bytes)));
  } catch (error) {
    assert.ok(error instanceof FormatError, String(error));
    assert.match(error.remedy, /cut off|Was the recording stopped/, error.message);
    return null;
  }
}

function dataEndOf(bytes: Uint8Array<ArrayBuffer>): number {
  const view = new DataView(bytes.buffer);
  const little = bytes[0] === 0x50;
  const word = (at: number) => Number(view.getBigUint64(at, little));
  return word(8) === PIPE_SIZE ? 0 : word(40) + word(48);
}

/** Every length of the first bytes and some of the rest; and around each mark of a pipe. */
function* lengths(size: number, ends: ReadonlySet<number>): Generator<number> {
  for (const end of ends) if (end < size) yield* [end - 8, end - 1, end, end + 1];
  const step = Math.max(1, Math.floor(size / 60));
  for (let length = 0; length < size; length += length < 600 ? 1 : step) yield length;
}

const MARKS = [PERF_RECORD_FINISHED_INIT, PERF_RECORD_FINISHED_ROUND];

/** Behind the marks of a pipe, found by a walk of its own. */
function endsOf(bytes: Uint8Array<ArrayBuffer>): Set<number> {
  const view = new DataView(bytes.buffer);
  const little = bytes[0] === 0x50;
  const ends = new Set<number>();
  for (let at = PIPE_SIZE; at + 8 <= bytes.length; at += view.getUint16(at + 6, little)) {
    if (MARKS.includes(view.getUint32(at, little))) ends.add(at + 8);
    if (view.getUint16(at + 6, little) < 8) break;
  }
  return ends;
}

async function checkCut(whole: StatsAnswer, { stats, dataEnd, ends }: Cut, length: number): Promise<void> {
  if (stats === null) {
    // What is refused has nothing in it.
    assert.ok(dataEnd === 0 ? length < PIPE_SIZE : length < dataEnd);
    return;
  }
  assert.ok(stats.samples <= whole.samples);
  const truncated = stats.loss.find(({ kind }) => kind === 'file-truncated');
  if (dataEnd === 0) {
    // A pipe can end behind a mark. What is beyond a whole record is told, and that the mark is missing.
    assert.equal(truncated === undefined, ends.has(length), 'a cut that is not told');
    if (stats.damage.some(({ code }) => code.endsWith('-cut'))) assert.ok(truncated !== undefined);
    return;
  }
  assert.ok(stats.damage.length > 0 || stats.loss.length > 0, 'nothing lost');
  if (length >= dataEnd) return;
  assert.ok(truncated !== undefined);
  assert.equal(truncated.exact, true);
  // No less than what the file lacks, no more than that and the rest of one record or trace.
  assert.ok(Number(truncated.count) >= dataEnd - length);
}

for (const { name, bytes } of [...fixtureRecordings(), ...corpusFiles('perfdata')]) {
  // A size of 0: the header of a killed recorder, with no word on where the data ends.
  const isKnown = !name.startsWith('killed') && !name.includes('corrupted');
  if (!isKnown || bytes.length > 100_000) continue;
  test(`${name}, cut at any length, says that it is cut, or is refused with what to do`, async () => {
    const whole = (await read(bytes))!;
    const dataEnd = dataEndOf(bytes);
    const ends = dataEnd === 0 ? endsOf(bytes) : new Set<number>();
    for (const length of lengths(bytes.length, ends)) {
      const stats = await read(bytes.slice(0, length));
      await checkCut(whole, { stats, dataEnd, ends }, length).catch((error) => {
        throw new Error(
          `at ${length} of ${bytes.length}: ${error.message}: ${JSON.stringify([stats?.loss, stats?.damage])}`,
        );
      });
    }
  });
}

test('a raw trace is no recording, and its remedy is the verb that reads it', async () => {
  const trace = new Uint8Array(4096).map((_, at) => (at % 2 === 0 ? 0x02 : 0x82));
  await assert.rejects(
    openPerfData(memorySource(trace)),
    ({ code, remedy }: { code: string; remedy: string }) => {
      assert.equal(code, 'ERR_NOT_PERF_DATA');
      assert.match(remedy, /pt dump/);
      return true;
    },
  );
});
