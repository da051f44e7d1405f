import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_ID_INDEX,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { parseFields, writeScript } from '@counterpoint/core/query';
import {
  BodyWriter,
  encodeSample,
  makeAttr,
  type PerfRecord,
  SampleLayout,
} from '@counterpoint/core/records';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { ExecutionEncoder, findPsb, ptRecording, RandomWalk } from '../../pt/index.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const disk: SymbolDriver = {
  open: async ({ need, path }) =>
    need === 'binary' && existsSync(path) ? memorySource(new Uint8Array(readFileSync(path))) : null,
};
const PID = 4242;
const ATTR = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  config: 1n,
  samplePeriodOrFreq: 1000n,
  sampleType: BigInt(
    PERF_SAMPLE_IDENTIFIER |
      PERF_SAMPLE_IP |
      PERF_SAMPLE_TID |
      PERF_SAMPLE_TIME |
      PERF_SAMPLE_CPU |
      PERF_SAMPLE_PERIOD |
      PERF_SAMPLE_AUX,
  ),
  auxSampleSize: 8192,
  flags: { sampleIdAll: 1, excludeKernel: 1 },
});

/** Which ring a counter wrote to: perf takes the trace in its samples for that ring's. */
const ID_INDEX: PerfRecord = {
  type: PERF_RECORD_ID_INDEX,
  misc: 0,
  entries: [{ id: 9n, index: 0n, cpu: 0xffff_ffff_ffff_ffffn, tid: BigInt(PID) }],
  tail: new Uint8Array(),
};

/**
 * To whole words, with packets that say nothing. A packet that is cut perf takes for damage,
 * and goes on in the middle of it.
 */
function padded(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array((bytes.length + 7) & ~7);
  whole.set(bytes);
  return whole;
}

/**
 * A walk whose trace stands in samples: pieces from the synchronization points
 * on, which overlap or leave gaps.
 */
async function recordingOf(
  cut: (marks: number[], size: number) => [from: number, to: number][],
): Promise<Uint8Array<ArrayBuffer> | null> {
  const programs = await loadPrograms();
  if (programs === null) return null;
  const { image, code, entries } = programs;
  const encoding = { tsc: true };
  const walk = new RandomWalk({ seed: 8, entries, interruptEvery: 60 });
  const trace = joinChunks(new ExecutionEncoder(image, walk, encoding).chunks({ instructions: 60_000 }));
  const marks: number[] = [];
  for (let at = findPsb(trace, 0, trace.length); at >= 0; at = findPsb(trace, at + 16, trace.length))
    marks.push(at);
  const mappings = code.map(({ path, address, sizeBytes, offset }) => ({
    path,
    address,
    sizeBytes,
    fileOffset: offset,
  }));
  const { attrs, records } = ptRecording({ pid: PID, comm: 'walk', mappings, trace, encoding });
  const layout = new SampleLayout(ATTR);
  const start = records.flatMap((record) =>
    'sampleId' in record && record.sampleId?.time !== undefined ? [record.sampleId.time] : [],
  )[0]!;
  const samples = cut(marks, trace.length).map(([from, to], index) => {
    const writer = new BodyWriter();
    writer.beginRecord(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    encodeSample(
      writer,
      {
        identifier: 9n,
        ip: code[0]!.address + 0x100n,
        pid: PID,
        tid: PID,
        // Behind all of the trace.
        time: start + 10_000_000n + BigInt(index),
        cpu: 0,
        period: 1000n,
        aux: padded(trace.subarray(from, to)),
      },
      layout,
    );
    writer.endRecord();
    return writer.take();
  });
  const aux = records.findIndex(
    (record) => !(record instanceof Uint8Array) && record.type === PERF_RECORD_AUXTRACE,
  );
  return writePerfData({
    attrs: [...attrs, { name: 'cpu-clock:u', ids: [9n], attr: ATTR }],
    records: [ID_INDEX, ...records.slice(0, aux), ...samples],
  });
}

async function ours(bytes: Uint8Array<ArrayBuffer>, letters: string): Promise<string[]> {
  const source = memorySource(bytes);
  let text = '';
  await writeScript(
    withTrace(await openPerfData(source), { bytes: source, files: disk, options: parseItrace(letters) }),
    {
      symbols: disk,
      fields: parseFields('comm,tid,time,event,ip'),
    },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  return text.split('\n');
}

test('trace inside of samples is decoded, as perf does', { skip: noPerf }, async (context) => {
  for (const [name, cut] of Object.entries<(marks: number[], size: number) => [number, number][]>({
    'with gaps': (marks, size) => [
      [marks[0]!, marks[1]!],
      [marks[2]!, size],
    ],
    overlapping: (marks, size) => [
      [marks[0]!, marks[1]! + 600],
      [marks[1]!, size],
    ],
  })) {
    const bytes = await recordingOf(cut);
    if (bytes === null) return context.skip('no gzip and libc for x86-64 here');
    const path = folder.file('sampled.data', bytes);
    for (const letters of ['i1i', 'b', 'i100i']) {
      const fields = 'comm,tid,time,event,ip';
      const theirs = perf(['script', '-i', path, `--itrace=${letters}`, '-F', fields]);
      const lines = theirs.stdout.split('\n');
      assert.ok(lines.length > 40, theirs.stderr);
      const mine = await ours(bytes, letters);
      for (const [index, line] of lines.entries())
        assert.equal(
          mine[index]?.trimEnd(),
          line.trimEnd(),
          `${name}, ${letters}, line ${index + 1} of ${lines.length}`,
        );
      assert.equal(mine.length, lines.length, `${name}, ${letters}`);
    }
  }
});
