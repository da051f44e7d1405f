import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMM,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, type RecordOrBytes, writePerfData } from '@counterpoint/core/perfdata';
import { parseFields, writeScript } from '@counterpoint/core/query';
import type { PerfRecord } from '@counterpoint/core/records';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { CodeImage } from '../../code/image/index.ts';
import {
  DEFAULT_RATES,
  ExecutionEncoder,
  encodePtInfo,
  type PerfClock,
  ptRecording,
  RandomWalk,
  readPtInfo,
  tscToPerfTime,
} from '../../pt/index.ts';
import { joinChunks } from '../../test/real-programs.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const NO_TAIL = new Uint8Array();
const ADDRESS = 0x40_1000n;
const PAGE = 0x1000;
/** Two programs with other code at the same addresses: whoever takes one for the other gets lost. */
const PROGRAMS = [
  [0x74, 0x04, 0xe8, 0x06, 0, 0, 0, 0x75, 0xf7, 0xff, 0xe0, 0x90, 0x90, 0x74, 0x01, 0x90, 0xc3],
  [0x90, 0x90, 0x90, 0x75, 0x05, 0xe8, 0x03, 0, 0, 0, 0xeb, 0xf4, 0x90, 0x90, 0x75, 0xfd, 0xc3],
].map((bytes) => Uint8Array.from(bytes));
const paths = PROGRAMS.map((program, index) => {
  const file = new Uint8Array(2 * PAGE);
  file.set(program, PAGE);
  return folder.file(`program-${index}`, file);
});

/** A while of one process on one CPU; its trace begins with a TSC. */
interface Slice {
  cpu: number;
  program: number;
  startTsc: number;
}

const SLICES: Slice[] = [
  { cpu: 0, program: 0, startTsc: 1_000_000_000_000 },
  { cpu: 1, program: 1, startTsc: 1_000_000_040_000 },
  { cpu: 0, program: 1, startTsc: 1_000_000_100_000 },
  { cpu: 0, program: 0, startTsc: 1_000_000_200_000 },
  { cpu: 1, program: 0, startTsc: 1_000_000_240_000 },
];
const pidOf = (program: number): number => 100 + program;

function traceOf({ program, startTsc }: Slice, seed: number): Uint8Array {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: ADDRESS, bytes: PROGRAMS[program]! });
  const walk = new RandomWalk({ seed, entries: Int32Array.of(Number(ADDRESS), 0), interruptEvery: 40 });
  const encoder = new ExecutionEncoder(image, walk, { tsc: true, mtc: true, rates: { startTsc } });
  return joinChunks(encoder.chunks({ instructions: 3000 }));
}

/** The slices as `perf record -a -e intel_pt//u` writes them. */
function systemRecording(): Uint8Array<ArrayBuffer> {
  const rates = { ...DEFAULT_RATES, startTsc: SLICES[0]!.startTsc };
  const base = ptRecording({
    pid: 1,
    comm: '',
    mappings: [],
    trace: NO_TAIL,
    encoding: { tsc: true, mtc: true, rates },
  });
  const [first] = base.records;
  assert.ok(first !== undefined && !(first instanceof Uint8Array) && 'auxtraceType' in first);
  const info = readPtInfo(first.data);
  const clock: PerfClock = info.clock!;
  const sampleId = (pid: number, time: bigint, cpu: number) => ({ pid, tid: pid, time, cpu, id: 2n });
  const records: RecordOrBytes[] = [encodePtInfo({ ...info, isPerCpu: true, schedSwitch: 3 })];
  const start = tscToPerfTime(clock, BigInt(SLICES[0]!.startTsc)) - 5000n;
  for (const [program, path] of paths.entries()) {
    const pid = pidOf(program);
    const mapping: PerfRecord = {
      type: PERF_RECORD_MMAP,
      misc: PERF_RECORD_MISC_USER,
      pid,
      tid: pid,
      start: ADDRESS,
      length: BigInt(PAGE),
      pageOffset: BigInt(PAGE),
      path,
      sampleId: sampleId(pid, start, 0),
      tail: NO_TAIL,
    };
    records.push(
      {
        type: PERF_RECORD_COMM,
        misc: 0,
        pid,
        tid: pid,
        comm: `program-${program}`,
        sampleId: sampleId(pid, start, 0),
        tail: NO_TAIL,
      },
      mapping,
    );
  }
  for (const { cpu, program, startTsc } of SLICES) {
    const time = tscToPerfTime(clock, BigInt(startTsc)) - 1000n;
    const pid = pidOf(program);
    for (const [misc, own, other] of [
      [PERF_RECORD_MISC_SWITCH_OUT, 0, pid],
      [0, pid, 0],
    ] as const)
      records.push({
        type: PERF_RECORD_SWITCH_CPU_WIDE,
        misc,
        nextOrPreviousPid: other,
        nextOrPreviousTid: other,
        sampleId: sampleId(own, time, cpu),
        tail: NO_TAIL,
      });
  }
  for (const cpu of [0, 1]) {
    const own = SLICES.filter((slice) => slice.cpu === cpu);
    const trace = joinChunks(own.map((slice, seed) => traceOf(slice, 3 + seed + cpu)));
    const padded = new Uint8Array((trace.length + 7) & ~7);
    padded.set(trace);
    records.push(
      {
        type: PERF_RECORD_AUXTRACE,
        misc: 0,
        dataSize: BigInt(padded.length),
        auxOffset: 0n,
        reference: BigInt(own[0]!.startTsc),
        index: cpu,
        tid: -1,
        cpu,
        reserved: 0,
        tail: NO_TAIL,
      },
      padded,
    );
  }
  return writePerfData({ ...base, records });
}

async function ours(bytes: Uint8Array<ArrayBuffer>, letters: string): Promise<string> {
  const source = memorySource(bytes);
  const files = {
    open: async ({ path }: { path: string }) =>
      existsSync(path) ? memorySource(new Uint8Array(readFileSync(path))) : null,
  };
  let text = '';
  await writeScript(
    withTrace(await openPerfData(source), { bytes: source, files, options: parseItrace(letters) }),
    {
      symbols: files,
      fields: parseFields('comm,tid,cpu,ip'),
    },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  return text;
}

/** The lines of one CPU: what happens on several at a time may be told in any order. */
const ofCpu = (text: string, cpu: number): string[] =>
  text.split('\n').filter((line) => line.includes(`[00${cpu}]`));

test('processes that take turns on two CPUs: each in its own code, as perf tells them', {
  skip: noPerf,
}, async () => {
  const bytes = systemRecording();
  const path = folder.file('system.data', bytes);
  for (const letters of ['i1ie', 'i7ie']) {
    const theirs = perf(['script', '-i', path, `--itrace=${letters}`, '-F', 'comm,tid,cpu,ip']);
    assert.equal(theirs.status, 0, theirs.stderr);
    assert.ok(!theirs.stdout.includes('error'), theirs.stdout.match(/.*error.*/)?.[0]);
    const mine = await ours(bytes, letters);
    for (const cpu of [0, 1]) {
      assert.ok(ofCpu(theirs.stdout, cpu).length > 500);
      assert.deepEqual(ofCpu(mine, cpu).slice(0, 20), ofCpu(theirs.stdout, cpu).slice(0, 20), letters);
      assert.ok(
        ofCpu(mine, cpu).join('\n') === ofCpu(theirs.stdout, cpu).join('\n'),
        `${letters}, CPU ${cpu}`,
      );
    }
  }
});

test('samples of several CPUs come in order of time', async () => {
  const source = memorySource(systemRecording());
  const reader = await openPerfData(source);
  let text = '';
  const files = {
    open: async ({ path }: { path: string }) => memorySource(new Uint8Array(readFileSync(path))),
  };
  await writeScript(
    withTrace(reader, { bytes: source, files, options: parseItrace('i1i') }),
    {
      symbols: files,
      nanoseconds: true,
      fields: parseFields('time,cpu'),
    },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  const times = [...text.matchAll(/(\d+\.\d{9}):/g)].map(([, time]) => Number(time));
  assert.ok(times.length > 14_000);
  assert.ok(times.every((time, index) => index === 0 || time >= times[index - 1]!));
});
