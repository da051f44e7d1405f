import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { parseFields, writeScript } from '@counterpoint/core/query';
import { BodyWriter, encodeSample, makeAttr, SampleLayout } from '@counterpoint/core/records';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { ExecutionEncoder, ptRecording, RandomWalk } from '../../pt/index.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const disk: SymbolDriver = {
  open: async ({ need, path }) =>
    need === 'binary' && existsSync(path) ? memorySource(new Uint8Array(readFileSync(path))) : null,
};
const NO_PROGRAMS = 'no gzip and libc for x86-64 here';
const PID = 4242;
const SAMPLES = 40;
const ATTR = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  config: 1n,
  samplePeriodOrFreq: 1000n,
  sampleType: BigInt(
    PERF_SAMPLE_IDENTIFIER |
      PERF_SAMPLE_IP |
      PERF_SAMPLE_TID |
      PERF_SAMPLE_TIME |
      PERF_SAMPLE_ADDR |
      PERF_SAMPLE_CPU |
      PERF_SAMPLE_PERIOD |
      PERF_SAMPLE_TRANSACTION,
  ),
  flags: { sampleIdAll: 1, excludeKernel: 1 },
});

/** A walk through gzip and libc, and samples of a clock beside its trace. */
async function recordingOf(): Promise<Uint8Array<ArrayBuffer> | null> {
  const programs = await loadPrograms();
  if (programs === null) return null;
  const { image, code, entries } = programs;
  const encoding = { tsc: true };
  const walk = new RandomWalk({ seed: 5, entries, interruptEvery: 60 });
  const encoder = new ExecutionEncoder(image, walk, encoding);
  const trace = joinChunks(encoder.chunks({ instructions: 20_000 }));
  const mappings = code.map(({ path, address, sizeBytes, offset }) => ({
    path,
    address,
    sizeBytes,
    fileOffset: offset,
  }));
  const recording = ptRecording({ pid: PID, comm: 'walk', mappings, trace, encoding });
  const layout = new SampleLayout(ATTR);
  const first = recording.records.findIndex(
    (record) => 'time' in ((record as { sampleId?: object }).sampleId ?? {}),
  );
  const start = (recording.records[first] as { sampleId: { time: bigint } }).sampleId.time;
  const samples = Array.from({ length: SAMPLES }, (_, index) => {
    const writer = new BodyWriter();
    writer.beginRecord(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    encodeSample(
      writer,
      {
        identifier: 9n,
        ip: code[0]!.address + 0x100n + BigInt(16 * index),
        pid: PID,
        tid: PID,
        time: start + BigInt(200 + 200 * index),
        cpu: 0,
        addr: BigInt(index),
        period: 1000n,
        transaction: 7n,
      },
      layout,
    );
    writer.endRecord();
    return writer.take();
  });
  const trailing = recording.records.findIndex(
    (record) => !(record instanceof Uint8Array) && record.type === 12,
  );
  const records = [...recording.records];
  records.splice(trailing + 1, 0, ...samples);
  return writePerfData({
    attrs: [...recording.attrs, { name: 'cpu-clock:u', ids: [9n], attr: ATTR }],
    records,
  });
}

async function ours(bytes: Uint8Array<ArrayBuffer>, letters: string, fields: string): Promise<string> {
  const source = memorySource(bytes);
  let text = '';
  await writeScript(
    withTrace(await openPerfData(source), { bytes: source, files: disk, options: parseItrace(letters) }),
    {
      symbols: disk,
      nanoseconds: true,
      fields: parseFields(fields),
    },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  return text;
}

/** Samples by their line, with the frames that follow. */
function blocks(text: string): { head: string; frames: string[] }[] {
  return text
    .trimEnd()
    .split('\n\n')
    .map((block) => {
      const [head = '', ...frames] = block.split('\n').map((line) => line.trim());
      return { head, frames };
    });
}

test('recorded samples get the call chains of the trace, with the callers that perf gives them', {
  skip: noPerf,
}, async (context) => {
  const bytes = await recordingOf();
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const path = folder.file('samples.data', bytes);
  const fields = 'comm,tid,time,event,ip';
  for (const [letters, frames] of [
    ['G', 16],
    ['G4', 4],
    ['i500igG6', 6],
  ] as const) {
    const theirs = blocks(perf(['script', '-i', path, '--ns', `--itrace=${letters}`, '-F', fields]).stdout);
    const mine = blocks(await ours(bytes, letters, fields));
    assert.equal(mine.length, theirs.length);
    let chains = 0;
    for (const [index, { head, frames: our }] of mine.entries()) {
      const their = theirs[index]!;
      assert.equal(head, their.head);
      if (!head.includes('cpu-clock')) continue;
      // perf has the sample's own place only where no call is known; where one is, the callers alone.
      if (our.length > 1) chains++;
      if (our.length > 1)
        assert.deepEqual(our.slice(1), their.frames.slice(0, frames - 1), `${letters}, ${head}`);
      else assert.ok(their.frames[0]!.endsWith(our[0]!), head);
    }
    assert.ok(chains > SAMPLES / 8, `${chains} chains`);
  }
});

test('recorded samples get the last branches of the trace, line by line as from perf', {
  skip: noPerf,
}, async (context) => {
  const bytes = await recordingOf();
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const path = folder.file('samples.data', bytes);
  for (const [letters, fields] of [
    ['L', 'comm,tid,time,event,ip,brstack'],
    ['L5', 'comm,tid,time,event,ip,brstack'],
    ['i100il3L3', 'tid,time,event,brstack'],
  ] as const) {
    const theirs = perf(['script', '-i', path, '--ns', `--itrace=${letters}`, '-F', fields]);
    const mine: string[] = (await ours(bytes, letters, fields)).split('\n');
    const lines = theirs.stdout.split('\n');
    assert.ok(lines.length > SAMPLES, theirs.stderr);
    for (const [index, line] of lines.entries())
      assert.equal(mine[index]?.trimEnd(), line.trimEnd(), `${letters}, line ${index + 1}`);
    assert.equal(mine.length, lines.length);
  }
});
