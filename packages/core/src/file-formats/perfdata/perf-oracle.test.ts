import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { makeAttr, type PerfRecord } from '../../format/records/index.ts';
import { EXAMPLE_FEATURES } from '../../test/example-features.ts';
import { ANSWER_ID, answerRaw, exampleTracingParts } from '../../test/example-tracing.ts';
import { noPerf, perf, TemporaryFolder } from '../../test/perf.ts';
import { ATTR, CONTEXT_KERNEL, CONTEXT_USER, comm, mmap2, sample } from '../../test/recordings.ts';
import {
  encodeRecords,
  encodeTracingData,
  layoutByEvent,
  openPerfData,
  type PerfDataReader,
  readRecords,
  type WrittenEvent,
  writePerfData,
} from './index.ts';

// The installed perf reads what is written here, and prints the same for a rewritten
// recording as for the original.
const folder = new TemporaryFolder();
after(() => folder.remove());

const SECOND = 1_000_000_000n;
const EVENTS: readonly WrittenEvent[] = [
  { attr: ATTR, ids: [1n, 2n], name: 'my-clock' },
  { attr: { ...ATTR, config: 1n }, ids: [3n], name: 'other-clock' },
];
const RECORDS: readonly PerfRecord[] = [
  comm(10, 'demo', 1n * SECOND),
  mmap2(10, 0x40_0000n, 0x1000n, '/opt/demo', 1n * SECOND),
  sample({ time: 2n * SECOND + 5000n, pid: 10, id: 1n, chain: [0x50_0100n, 0x50_0200n], period: 7n }),
  sample({ time: 3n * SECOND, pid: 10, id: 3n, cpu: 1, chain: [0x50_0300n] }),
  {
    ...sample({ time: 4n * SECOND, pid: 10, id: 2n, chain: [0xffff_ffff_0000_0010n] }),
    misc: 1,
  },
];
const kernelSample = RECORDS[4]!;
if ('sample' in kernelSample)
  kernelSample.sample.callchain = [CONTEXT_KERNEL, 0xffff_ffff_0000_0010n, CONTEXT_USER, 0x50_0400n];

const SCRIPT = ['script', '-F', 'comm,pid,tid,time,period,event,ip,sym'];
const SCRIPT_LINES = [
  'demo 10/10 2.000005: 7 my-clock:',
  '500100 [unknown]',
  '500200 [unknown]',
  'demo 10/10 3.000000: 1000 other-clock:',
  '500300 [unknown]',
  'demo 10/10 4.000000: 1000 my-clock:',
  'ffffffff00000010 [unknown]',
  '500400 [unknown]',
];

function lines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim().replace(/ +/g, ' '))
    .filter((line) => line !== '');
}

test('perf reads our files and pipes: header, samples, figures', { skip: noPerf }, () => {
  const attrs = EVENTS;
  const features: Partial<typeof EXAMPLE_FEATURES> = { ...EXAMPLE_FEATURES };
  // Not true of this recording, or not what perf expects in them.
  for (const field of ['eventDescriptions', 'compressed', 'auxIndex', 'dirFormat', 'bpfBtf'] as const)
    delete features[field];
  for (const littleEndian of [true, false]) {
    const path = folder.file('file.data', writePerfData({ attrs, records: RECORDS, features, littleEndian }));
    const script = perf([...SCRIPT, '-i', path]);
    assert.deepEqual(lines(script.stdout), SCRIPT_LINES, script.stderr);
    const header = perf(['report', '-i', path, '--header-only', '-I', '--stdio']);
    for (const line of [
      '# hostname : workshop',
      '# os release : 6.18.0',
      '# perf version : 7.0',
      '# arch : x86_64',
      '# nrcpus online : 3',
      '# nrcpus avail : 4',
      '# cpudesc : Example CPU @ 3.00GHz',
      '# cpuid : GenuineIntel,6,85,7',
      '# total memory : 16000000 kB',
      '# sibling sockets : 0-1',
      '# sibling dies    : 0-3',
      '# sibling threads : 2-3',
      '# CPU 3: Core ID 1, Die ID 2, Socket ID 1',
      '# node1 meminfo  : total = 8000000 kB, free = 2 kB',
      '# pmu mappings: software = 1, cpu = 4',
      '# contains samples with branch stack',
      '# contains stat data',
      '#  L1 Data                 32K [0-1]',
      '# time of first sample : 1.000000',
      '# time of last sample : 2.500000',
      '#    0 [512M]: 0,2,64-65',
      '# clockid frequency: 1000 MHz',
      '# cpu pmu capabilities: branches=32',
      '# reference time: 2023-11-14 22:13:20.000000 = 1700000000.000000 (TOD) = 0.000000012',
      '# cpu_core cpu list : 0-3',
      '# intel_pt pmu capabilities: psb_cyc=1',
    ])
      assert.ok(header.stdout.includes(line), `${line}\n${header.stdout}${header.stderr}`);
    assert.match(header.stdout, /# event : name = my-clock, , id = \{ 1, 2 \}, type = 1, size = 64,/);
    const ids = perf(['buildid-list', '-i', path]);
    assert.match(ids.stdout, /^00112233445566778899aabbccddeeff00112233 \[kernel\.kallsyms\]$/m);
    assert.match(ids.stdout, /^0011223344556677 +\/usr\/bin\/démo$/m);
    // perf believes these two, and looks for branches and counts then.
    const { branchStack: _, stat: __, ...plain } = features;
    folder.file('file.data', writePerfData({ attrs, records: RECORDS, features: plain, littleEndian }));
    const stats = perf(['report', '-i', path, '--stats', '--stdio']);
    assert.match(stats.stdout, /SAMPLE events: +3/, stats.stderr);
    assert.match(stats.stdout, /my-clock stats:\s+SAMPLE events: +2\nother-clock stats:\s+SAMPLE events: +1/);
  }
  const pipe = writePerfData({ attrs, records: RECORDS, features, mode: 'pipe' });
  const script = perf([...SCRIPT, '-i', '-'], pipe);
  assert.deepEqual(lines(script.stdout), SCRIPT_LINES, script.stderr);
  const stats = perf(['report', '-i', '-', '--stats', '--stdio'], pipe);
  assert.match(stats.stdout, /SAMPLE events: +3/, stats.stderr);
});

test('perf prints the fields of tracepoints that we describe', { skip: noPerf }, () => {
  const raw = (1 << 10) | 1 | 2 | 4 | 128 | (1 << 16);
  const attr = makeAttr({
    type: 2,
    config: BigInt(ANSWER_ID),
    samplePeriodOrFreq: 1n,
    sampleType: BigInt(raw),
    flags: { sampleIdAll: 1 },
  });
  const record: PerfRecord = {
    type: 9,
    misc: 1,
    tail: new Uint8Array(),
    sample: {
      identifier: 1n,
      ip: 1n,
      pid: 10,
      tid: 10,
      time: SECOND,
      cpu: 0,
      raw: answerRaw(42, 'deep', 'thought'),
    },
  };
  const features = { raw: new Map([[1, encodeTracingData(exampleTracingParts())]]) };
  const contents = { attrs: [{ attr, ids: [1n], name: 'demo:answer' }], records: [record], features };
  const expected = /\b1\.000000: demo:answer: answer=42 who=deep text=thought/;
  const file = perf([
    'script',
    '-F',
    'time,event,trace',
    '-i',
    folder.file('tp.data', writePerfData(contents)),
  ]);
  assert.match(file.stdout, expected, file.stderr);
  const pipe = perf(
    ['script', '-F', 'time,event,trace', '-i', '-'],
    writePerfData({ ...contents, mode: 'pipe' }),
  );
  assert.match(pipe.stdout, expected, pipe.stderr);
});

/** Everything of a recording through our reader and back through our writer. */
async function rewrite(
  reader: PerfDataReader,
  mode: 'file' | 'pipe',
): Promise<{ data: Uint8Array; bytes: Uint8Array }> {
  const records: PerfRecord[] = [];
  for await (const { record } of readRecords(reader, { unordered: true })) records.push(record);
  const attrs = reader.events.events.map(({ attr, ids, name }) => ({ attr, ids: ids.map(BigInt), name }));
  const { littleEndian, features } = reader;
  return {
    data: encodeRecords(records, layoutByEvent(attrs), littleEndian),
    bytes: writePerfData({ attrs, records, features, mode, littleEndian }),
  };
}

const recordedPath = `${folder.path}/recorded.data`;
const recorded = noPerf
  ? null
  : perf([
      'record',
      '-q',
      '-e',
      'cpu-clock,context-switches',
      '-c',
      '100000',
      '-g',
      '-o',
      recordedPath,
      '--',
      'ls',
      '-R',
      '/usr/lib',
    ]);
const noRecording =
  noPerf || (recorded?.status === 0 ? false : `perf cannot record here: ${recorded?.stderr}`);

test('a real recording, read and written again, is the same to perf', { skip: noRecording }, async () => {
  const original = new Uint8Array(readFileSync(recordedPath));
  const reader = await openPerfData(memorySource(original));
  const { data, bytes } = await rewrite(reader, 'file');
  assert.deepEqual(reader.damage.list(), []);

  // Every record decodes and encodes to the bytes it was.
  const view = new DataView(original.buffer);
  const dataOffset = Number(view.getBigUint64(40, true));
  assert.deepEqual(data, original.slice(dataOffset, dataOffset + Number(view.getBigUint64(48, true))));

  const path = folder.file('rewritten.data', bytes);
  for (const args of [
    ['script', '-F', 'comm,pid,tid,time,period,event,ip,sym,dso'],
    ['script', '--show-task-events', '--show-mmap-events'],
    ['report', '--stats', '--stdio'],
    ['report', '--stdio', '--no-children', '-g', 'none'],
    ['buildid-list'],
  ]) {
    const before = perf([...args, '-i', recordedPath]);
    const again = perf([...args, '-i', path]);
    assert.ok(before.stdout.length > 100 || args[0] === 'buildid-list', args.join(' '));
    // From one run of perf to the next rows of equal share stand in any order, aliases of one address may
    // take turns, and a tip of the day is drawn.
    const rows = (text: string) =>
      args[0] === 'report'
        ? lines(text)
            .filter((line) => !/ 0\.\d\d% |^# \(Tip:/.test(line))
            .sort()
        : text;
    assert.deepEqual(rows(again.stdout), rows(before.stdout), args.join(' '));
    assert.equal(again.status, 0);
  }
  // The header but for when the file was made, where its parts are, and the size of the attrs.
  const headerOf = (file: string) =>
    lines(perf(['report', '--header-only', '-I', '--stdio', '-i', file]).stdout).filter(
      (line) => !/captured on|data offset|feat offset/.test(line),
    );
  assert.deepEqual(headerOf(path), headerOf(recordedPath));

  const pipe = await rewrite(await openPerfData(memorySource(original)), 'pipe');
  const script = ['script', '-F', 'comm,pid,tid,time,period,event,ip,sym'];
  const streamed = perf([...script, '-i', '-'], pipe.bytes);
  assert.equal(streamed.stdout, perf([...script, '-i', recordedPath]).stdout, streamed.stderr);
});
