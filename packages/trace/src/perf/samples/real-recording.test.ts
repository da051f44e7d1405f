import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_RECORD_AUXTRACE_ERROR } from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { ingestPerfData } from '@counterpoint/core/ingest';
import { openPerfData } from '@counterpoint/core/perfdata';
import { writeScript } from '@counterpoint/core/query';
import { corpusFiles, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import {
  findPsb,
  findPsbBackward,
  PACKET_PSB,
  PACKET_TIP,
  PACKET_TNT8,
  PACKET_TNT64,
  PacketCursor,
} from '../../pt/index.ts';
import { AuxIndex, auxQueues, readStretches } from '../auxtrace/index.ts';
import { parseItrace, SCRIPT_ITRACE, withTrace } from './index.ts';

const file = corpusFiles('perfdata/quipper').find(({ name }) => name === 'perf.data.intel_pt-4.14');
const skip = lacksCorpus('perfdata/quipper/');

test('a real recording: its AUX data through the reader, packet by packet', { skip }, async () => {
  const source = memorySource(file!.bytes);
  const reader = await openPerfData(source);
  const index = new AuxIndex(reader.littleEndian);
  await reader.scan(index, { unordered: true });
  const counts = new Map<number, number>();
  for (const queue of auxQueues(index.pieces))
    for await (const { bytes } of readStretches(queue, source, {
      isSnapshot: false,
      findMark: (all, from) => findPsb(all, from, all.length),
      findLastMark: (all, before) => findPsbBackward(all, 0, before),
    }))
      for (const { kind } of new PacketCursor(bytes).packets()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  assert.equal((counts.get(PACKET_TNT8) ?? 0) + (counts.get(PACKET_TNT64) ?? 0), 69_516);
  assert.equal(counts.get(PACKET_TIP), 12_039);
  assert.ok((counts.get(PACKET_PSB) ?? 0) > 0);
});

test('a real recording without its programs: each error is counted, none is taken for a path', {
  skip,
}, async () => {
  const source = memorySource(file!.bytes);
  const reader = await openPerfData(source);
  let errors = 0;
  let lastTime = 0n;
  const sink = {
    record(view: DataView, start: number, _end: number, type: number) {
      if (type !== PERF_RECORD_AUXTRACE_ERROR) return;
      errors++;
      lastTime = view.getBigUint64(start + 40, true);
    },
  };
  const nothing = { open: async () => null };
  const trace = withTrace(reader, {
    bytes: source,
    files: nothing,
    options: parseItrace(SCRIPT_ITRACE),
  });
  const outcome = await trace.scan(sink);
  assert.ok(errors > 0);
  // In nanoseconds of the recording, whose clock's zero lies before that of the TSC.
  assert.ok(lastTime > 641_256_000_000n && lastTime < 641_259_000_000n, String(lastTime));
  const [first, ...others] = outcome?.errors ?? [];
  assert.equal(first?.text, 'Failed to get instruction');
  assert.ok(first.count >= errors);
  assert.deepEqual(others, []);
  const codes = new Set(outcome!.diagnostics.map(({ code }) => code));
  assert.deepEqual([...codes].sort(), ['code-not-found', 'kernel-code-not-found', 'trace-errors']);
});

test('what a trace lacks is in the ledger of report and script', { skip }, async () => {
  const source = memorySource(file!.bytes);
  const files = { open: async () => null };
  const trace = async () =>
    withTrace(await openPerfData(source), { bytes: source, files, options: parseItrace('b') });
  const { profile } = await ingestPerfData(await trace());
  const { loss } = await writeScript(await trace(), { symbols: files }, () => {});
  for (const entries of [profile.loss, loss]) {
    const errors = entries.filter(({ kind }) => kind === 'trace-error');
    assert.equal(errors.length, 1);
    assert.ok(Number(errors[0]!.count) > 10_000, errors[0]!.count);
  }
});
