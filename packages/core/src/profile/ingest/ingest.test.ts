import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { memorySource } from '../../base/index.ts';
import type { JitCodeLoad, JitRecord } from '../../code/jit/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import { openPerfData, type PerfDataFeatures, writePerfData } from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_MISC_KERNEL,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
} from '../../format/abi/index.ts';
import { makeAttr, type PerfRecord } from '../../format/records/index.ts';
import { jitDumpBytes } from '../../test/jitdump-bytes.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { noPerf, perf, TemporaryFolder } from '../../test/perf.ts';
import { ATTR, CONTEXT_KERNEL, CONTEXT_USER, comm, mmap2, recording, sample } from '../../test/recordings.ts';
import { assertTableInvariants, MODE_KERNEL, MODE_USER, NONE, type Profile } from '../tables/index.ts';
import { type IngestOptions, ingestPerfData } from './index.ts';

async function ingest(records: PerfRecord[], options: IngestOptions = {}): Promise<Profile> {
  const reader = await openPerfData(memorySource(recording(records)));
  const { profile } = await ingestPerfData(reader, options);
  assertTableInvariants(profile);
  return profile;
}

/** Addresses of a sample's stack, innermost first, as binary name and offset. */
function stackOf(profile: Profile, row: number): string[] {
  const { samples, stacks, frames, binaries } = profile;
  const names: string[] = [];
  for (let stack = samples.stack.at(row); stack !== NONE; stack = stacks.prefix.at(stack)) {
    const frame = stacks.frame.at(stack);
    const address = (frames.addressHi.at(frame) >>> 0) * 2 ** 32 + (frames.addressLo.at(frame) >>> 0);
    names.push(`${binaries[frames.binary.at(frame)]!.name}:${address.toString(16)}`);
  }
  return names;
}

test('addresses become offsets in the file that is mapped at their time', async () => {
  const profile = await ingest([
    comm(10, 'app', 1n, true),
    mmap2(10, 0x1000n, 0x1000n, '/bin/old', 2n, 0x400n),
    sample({ time: 3n, chain: [0x1234n, 0x9000n] }),
    mmap2(10, 0x1200n, 0x100n, '/bin/new', 4n, 0n),
    sample({ time: 5n, chain: [0x1234n, 0x1010n] }),
  ]);
  assert.deepEqual(stackOf(profile, 0), ['old:634', '[unknown]:9000']);
  assert.deepEqual(stackOf(profile, 1), ['new:34', 'old:410']);
});

test('a recording that does not say where the kernel was says why its functions have no names', async () => {
  const driver: SymbolDriver = { open: async () => null };
  const codes = async (records: PerfRecord[]) => {
    const reader = await openPerfData(memorySource(recording(records)));
    return (await ingestPerfData(reader, { symbols: driver })).diagnostics.map(({ code }) => code);
  };
  const inKernel = sample({ time: 3n, chain: [0xffff_ffff_8100_0010n] });
  inKernel.misc = PERF_RECORD_MISC_KERNEL;
  inKernel.sample.callchain = [CONTEXT_KERNEL, 0xffff_ffff_8100_0010n];
  assert.deepEqual(await codes([inKernel]), ['no-kernel-map']);
  assert.ok(!(await codes([sample({ time: 3n, chain: [0x1234n] })])).includes('no-kernel-map'));
});

test('inside execve the caller is of the program before; once the new one runs it is gone', async () => {
  const inExec = sample({ time: 5n, chain: [0xffff_ffff_8100_0010n] });
  inExec.misc = PERF_RECORD_MISC_KERNEL;
  inExec.sample.callchain = [CONTEXT_KERNEL, 0xffff_ffff_8100_0010n, CONTEXT_USER, 0x1010n];
  const profile = await ingest([
    mmap2(10, 0x1000n, 0x1000n, '/bin/old', 1n),
    comm(10, 'new', 2n, true),
    mmap2(10, 0x8000n, 0x1000n, '/bin/new', 4n),
    inExec,
    sample({ time: 6n, chain: [0x8010n, 0x1010n] }),
    { ...inExec, sample: { ...inExec.sample, time: 7n } },
  ]);
  assert.deepEqual(stackOf(profile, 0).slice(1), ['old:10']);
  assert.deepEqual(stackOf(profile, 1), ['new:10', '[unknown]:1010']);
  assert.deepEqual(stackOf(profile, 2).slice(1), ['[unknown]:1010']);
});

test('thread 0 is the idle task, whatever process the sample names', async () => {
  const profile = await ingest([comm(10, 'app', 1n), sample({ time: 2n, pid: 10, tid: 0 })]);
  assert.equal(profile.strings.get(profile.samples.comm.at(0)), 'swapper');
});

test('a thread that has ended has no name, as in perf', { skip: noPerf }, async () => {
  const records = [comm(10, 'app', 1n), sample({ time: 2n, tid: -1 }), sample({ time: 3n, tid: 11 })];
  const profile = await ingest(records);
  assert.deepEqual(
    [0, 1].map((row) => profile.strings.get(profile.samples.comm.at(row))),
    [':-1', 'app'],
  );
  const folder = new TemporaryFolder();
  try {
    const lines = perf(['script', '-F', 'comm', '-i', folder.file('perf.data', recording(records))]).stdout;
    assert.match(lines, /^ *:-1 *$/m);
  } finally {
    folder.remove();
  }
});

test('user stacks that are not unwound are told of', async () => {
  const attr = makeAttr({
    ...ATTR,
    sampleType: ATTR.sampleType | BigInt(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER),
    // As perf sets it: the chain of user code is to come from the stack.
    flags: { ...ATTR.flags, excludeCallchainUser: 1 },
  });
  const reader = await openPerfData(memorySource(recording([], {}, attr)));
  const { diagnostics } = await ingestPerfData(reader);
  assert.deepEqual(
    diagnostics.map(({ code }) => code),
    ['user-stacks-not-unwound'],
  );
});

test('records apply in order of time, not of the file', async () => {
  const profile = await ingest([
    sample({ time: 9n, chain: [0x1234n] }),
    mmap2(10, 0x1000n, 0x1000n, '/bin/app', 2n),
    comm(10, 'renamed', 8n),
    sample({ time: 3n, chain: [0x1234n] }),
    comm(10, 'first', 1n, true),
  ]);
  assert.deepEqual(stackOf(profile, 0), ['app:234']);
  const names = [0, 1].map((row) => profile.strings.get(profile.samples.comm.at(row)));
  assert.deepEqual(names, ['first', 'renamed']);
});

test('context markers part kernel from user code', async () => {
  const record = sample({ time: 1n, chain: [0x10n] });
  const kernel = [0xffff_ffff_8100_0010n, 0xffff_ffff_8100_0020n];
  record.sample.ip = kernel[0]!;
  record.misc = 1;
  record.sample.callchain = [CONTEXT_KERNEL, ...kernel, CONTEXT_USER, 0x10n, 0x20n];
  const profile = await ingest([record]);
  const modes: number[] = [];
  for (let stack = profile.samples.stack.at(0); stack !== NONE; stack = profile.stacks.prefix.at(stack)) {
    modes.push(profile.frames.mode.at(profile.stacks.frame.at(stack)));
  }
  assert.deepEqual(modes, [MODE_KERNEL, MODE_KERNEL, MODE_USER, MODE_USER]);
});

test('stacks are the recorded chains, whatever came before', async () => {
  const chains = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 }), {
    minLength: 1,
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(chains, async (list) => {
      const records = list.map((chain, i) =>
        sample({
          time: BigInt(i + 1),
          pid: 10 + (i % 2),
          chain: chain.map((address) => BigInt(address * 16)),
        }),
      );
      const profile = await ingest(records);
      list.forEach((chain, row) => {
        assert.deepEqual(
          stackOf(profile, row),
          chain.map((address) => `[unknown]:${(address * 16).toString(16)}`),
        );
      });
    }),
    { numRuns: 60 },
  );
});

test('merged rows add up to the single ones', async () => {
  const records = Array.from({ length: 200 }, (_, i) =>
    sample({
      time: BigInt(i + 1),
      pid: 10 + (i % 3),
      cpu: i % 2,
      chain: [BigInt(16 + (i % 5) * 16), 0x99n],
      period: BigInt(i),
    }),
  );
  const single = await ingest(records);
  const merged = await ingest(records, { aggregate: true });
  assert.equal(single.samples.length, 200);
  assert.equal(merged.samples.length, 15);
  const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
  assert.equal(sum(merged.samples.count.view()), 200);
  assert.equal(sum(merged.samples.weight.view()), sum(single.samples.weight.view()));
  assert.equal(merged.events[0]?.sumPeriod, 19900n);
  assert.equal((await ingest(records, { aggregate: true, keepCpu: true })).samples.length, 30);
});

test('filters by thread, command, CPU and time', async () => {
  const records = [
    comm(10, 'one', 1n),
    comm(11, 'two', 2n),
    ...Array.from({ length: 20 }, (_, i) => sample({ time: BigInt(i + 10), pid: 10 + (i % 2), cpu: i % 4 })),
  ];
  const count = async (filter: IngestOptions['filter']) =>
    (await ingest(records, filter ? { filter } : {})).samples.length;
  assert.equal(await count(undefined), 20);
  assert.equal(await count({ pids: new Set([11]) }), 10);
  assert.equal(await count({ comms: new Set(['two']) }), 10);
  assert.equal(await count({ cpus: new Set([0, 3]) }), 10);
  assert.equal(await count({ fromNs: 12n, toNs: 14n }), 3);
  assert.equal(await count({ tids: new Set([99]) }), 0);
});

/** Of generated code: what its process wrote of it. */
const PID = 10;
const DUMP = '/work/jit-10.dump';
const MEMORY = 0x1_0000;
const MONOTONIC = makeAttr({ ...ATTR, clockId: 1, flags: { ...ATTR.flags, useClockId: 1 } });

const load = (time: number, name: string, offset: number, sizeBytes = 64): JitCodeLoad => ({
  kind: 'load',
  time,
  pid: PID,
  tid: PID,
  address: BigInt(MEMORY + offset),
  codeIndex: BigInt(time),
  name,
  code: new Uint8Array(sizeBytes),
  sizeBytes,
});

const MAPS = [
  comm(PID, 'python3', 1n),
  mmap2(PID, BigInt(MEMORY), 0x1000n, '//anon', 2n),
  mmap2(PID, 0x7f00_0000_0000n, 0x1000n, DUMP, 3n),
];
const at = (time: number, offset: number) =>
  sample({ time: BigInt(time), pid: PID, chain: [BigInt(MEMORY + offset)] });

interface Answer {
  /** Of each sample. */
  names: string[];
  codes: string[];
}

async function answer(
  records: PerfRecord[],
  files: Record<string, Uint8Array<ArrayBuffer> | string>,
  { attr = MONOTONIC, features = {} }: { attr?: typeof ATTR; features?: Partial<PerfDataFeatures> } = {},
): Promise<Answer> {
  const attrs = [{ attr, ids: [1n], name: 'cpu-clock' }];
  const bytes = writePerfData({ attrs, records, features });
  const driver = new MemoryDriver(files);
  const { profile, diagnostics } = await ingestPerfData(await openPerfData(memorySource(bytes)), {
    symbols: driver,
  });
  assert.equal(driver.openFiles, 0);
  const { samples, stacks, frames, symbols, strings } = profile;
  const names = Array.from({ length: samples.length }, (_, row) => {
    const symbol = frames.symbol.at(stacks.frame.at(samples.stack.at(row)));
    return symbol < 0 ? '-' : strings.get(symbols.name.at(symbol));
  });
  return { names, codes: diagnostics.map(({ code }) => code) };
}

const dumpOf = (...records: JitRecord[]) => ({ [`jitdump ${DUMP}`]: jitDumpBytes(records, true, false) });

/** The second takes half of what the first had; the third is where nothing else was. */
const REUSED = dumpOf(load(100, 'old', 0), load(200, 'new', 32), load(300, 'alone', 0x100));
const SAMPLES = [at(110, 40), at(199, 40), at(200, 40), at(250, 8), at(310, 0x110), at(320, 40)];

test('generated code has the names of the dump, by address and time', async () => {
  const { names, codes } = await answer([...MAPS, ...SAMPLES], REUSED);
  assert.deepEqual(names, ['old', 'old', 'new', 'old', 'alone', 'new']);
  assert.deepEqual(codes, []);
});

test('samples before the dump was mapped, and code that moves', async () => {
  const [name, memory, dump] = MAPS;
  const move: JitRecord = {
    kind: 'move',
    time: 150,
    pid: PID,
    tid: PID,
    oldAddress: BigInt(MEMORY),
    newAddress: BigInt(MEMORY + 0x200),
    sizeBytes: 64n,
    codeIndex: 100n,
  };
  const late = mmap2(PID, 0x7f00_0000_0000n, 0x1000n, DUMP, 90n);
  assert.equal(dump!.type, late.type);
  const { names } = await answer(
    [name!, memory!, at(50, 0x900), late, at(120, 8), at(160, 0x208)],
    dumpOf(load(100, 'moves', 0), move),
  );
  assert.deepEqual(names, ['-', 'moves', 'moves']);
});

test('where times are of another clock, an address is what was there last, and that is told once', async () => {
  const { names, codes } = await answer([...MAPS, ...SAMPLES], REUSED, { attr: ATTR });
  assert.deepEqual(names, ['new', 'new', 'new', 'old', 'alone', 'new']);
  assert.deepEqual(codes, ['jitdump-clock']);
  // Where no memory was used again, no time matters.
  const plain = await answer([...MAPS, at(50, 8)], dumpOf(load(100, 'alone', 0)), { attr: ATTR });
  assert.deepEqual(plain, { names: ['alone'], codes: [] });
});

test('a dump that a later process with the same number wrote names nothing', async () => {
  const features = { sampleTime: { first: 110n, last: 320n } };
  const dump = dumpOf(load(1000, 'other', 0));
  const { names, codes } = await answer([...MAPS, at(110, 8), at(320, 8)], dump, { features });
  assert.deepEqual([names, codes], [['-', '-'], ['jitdump-stale']]);
});

test('a dump that is not there, or none: one note says so, unless a map has the names', async () => {
  const records = [...MAPS, at(110, 8)];
  assert.deepEqual(await answer(records, {}), { names: ['-'], codes: ['no-jitdump'] });
  const text = await answer(records, { [`jitdump ${DUMP}`]: 'text' });
  assert.deepEqual(text, { names: ['-'], codes: ['jitdump-damaged'] });
  const map = { [`perf-map /tmp/perf-${PID}.map`]: '10000 40 mapped\n' };
  assert.deepEqual(await answer(records, map), { names: ['mapped'], codes: [] });
});

test('what the end of a dump lacks is told, and the rest serves', async () => {
  const [[name, bytes]] = Object.entries(REUSED) as [[string, Uint8Array<ArrayBuffer>]];
  const { names, codes } = await answer([...MAPS, ...SAMPLES], { [name]: bytes.slice(0, -8) });
  assert.deepEqual(names, ['old', 'old', 'new', 'old', '-', 'new']);
  assert.deepEqual(codes, ['jitdump-damaged']);
});
