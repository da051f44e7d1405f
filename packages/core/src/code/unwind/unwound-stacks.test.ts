import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { collectStats } from '../../answers/index.ts';
import { memorySource } from '../../base/index.ts';
import { openPerfData } from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TRANSACTION,
} from '../../format/abi/index.ts';
import { decodeRecord, makeAttr, type PerfRecord, type SampleRecord } from '../../format/records/index.ts';
import { ingestPerfData } from '../../profile/ingest/index.ts';
import { jitFrameBytes } from '../../test/jit-frame-bytes.ts';
import { jitDumpBytes } from '../../test/jitdump-bytes.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { ATTR, CONTEXT_KERNEL, CONTEXT_USER, comm, mmap2, recording, sample } from '../../test/recordings.ts';
import type { JitRecord } from '../jit/index.ts';
import { withUnwoundStacks } from './index.ts';

const BP = 6n;
const SP = 7n;
const IP = 8n;
const STACK = 0x7ffc_1234_0000n;

/** As perf asks for stacks, and with a part before them and one behind. */
const STACKS = makeAttr({
  ...ATTR,
  sampleType:
    ATTR.sampleType |
    BigInt(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_RAW | PERF_SAMPLE_TRANSACTION),
  sampleRegsUser: (1n << BP) | (1n << SP) | (1n << IP),
  sampleStackUser: 64,
  flags: { ...ATTR.flags, excludeCallchainUser: 1 },
});

interface StackFacts {
  time?: bigint;
  ip?: bigint;
  words: bigint[];
  bp: bigint;
  abi?: number;
}

/** A sample in the kernel, as a system call has it, with the user's stack. */
function stackSample({ time = 5n, ip = 0x1010n, words, bp, abi = 2 }: StackFacts, le: boolean): SampleRecord {
  const record = sample({ time, chain: [0xffff_ffff_8100_0010n] });
  const bytes = new Uint8Array(words.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [index, word] of words.entries()) view.setBigUint64(index * 8, word, le);
  record.misc = PERF_RECORD_MISC_KERNEL;
  Object.assign(record.sample, {
    callchain: [CONTEXT_KERNEL, 0xffff_ffff_8100_0010n],
    raw: Uint8Array.of(1, 2, 3, 4),
    userRegisters: { abi, registers: abi === 0 ? [] : [bp, STACK, ip] },
    userStack: { bytes: abi === 0 ? new Uint8Array() : bytes, dynamicSize: abi === 0 ? 0 : bytes.length },
    transaction: 77n,
  });
  return record;
}

/** Two frames by frame pointers; the second is the outermost. */
const TWO_FRAMES = (time = 5n): StackFacts => ({
  time,
  words: [0n, STACK + 32n, 0x1105n, 9n, 0n, 0x1209n],
  bp: STACK + 8n,
});

async function unwound(records: PerfRecord[], le = true, driver = new MemoryDriver(), attr = STACKS) {
  const reader = await openPerfData(memorySource(recording(records, { littleEndian: le }, attr)));
  const found: PerfRecord[] = [];
  const added = await withUnwoundStacks(reader, { files: driver }).scan({
    record: (view, start, end, type) => {
      const event = reader.events.eventOf(view, start, end, type, le);
      found.push(decodeRecord(view, start, end - start, event?.layout ?? null, le));
    },
  });
  return { found, added };
}

const MAPS = [comm(10, 'app', 1n), mmap2(10, 0x1000n, 0x1000n, '/bin/app', 2n)];
const samplesOf = (records: PerfRecord[]) =>
  records.filter((record): record is SampleRecord => record.type === PERF_RECORD_SAMPLE);

for (const le of [true, false])
  test(`callers are in the call chain, and all else is as it was (${le ? 'little' : 'big'} endian)`, async () => {
    const { found, added } = await unwound([...MAPS, stackSample(TWO_FRAMES(), le)], le);
    const [record] = samplesOf(found);
    const { callchain, userStack, ...others } = record!.sample;
    assert.deepEqual(callchain, [
      CONTEXT_KERNEL,
      0xffff_ffff_8100_0010n,
      CONTEXT_USER,
      0x1010n,
      0x1104n,
      0x1208n,
    ]);
    assert.deepEqual(userStack, { bytes: new Uint8Array(8), dynamicSize: 8 }, 'its innermost word');
    const before = stackSample(TWO_FRAMES(), le).sample;
    for (const name of ['ip', 'time', 'period', 'raw', 'userRegisters', 'transaction'] as const)
      assert.deepEqual(others[name], before[name], name);
    assert.deepEqual(added?.losses, []);
    assert.equal(added?.hasCallers, true);
  });

test('samples without a stack pass as they are: kernel threads', async () => {
  const kernel = stackSample({ words: [], bp: 0n, abi: 0 }, true);
  const { found, added } = await unwound([...MAPS, kernel]);
  assert.deepEqual(samplesOf(found)[0]!.sample.callchain, [CONTEXT_KERNEL, 0xffff_ffff_8100_0010n]);
  // Nothing is missing: what has no stack has no callers.
  assert.deepEqual(added, { hasCallers: true, diagnostics: [], losses: [] });
});

test('records that come while a file is opened wait for their turn', async () => {
  const times = [5n, 6n, 7n, 8n];
  const records = times.flatMap((time) => [
    stackSample(TWO_FRAMES(time), true),
    comm(10, `name${time}`, time),
  ]);
  const { found } = await unwound([...MAPS, ...records]);
  const order = found.map((record) =>
    record.type === PERF_RECORD_SAMPLE
      ? String((record as SampleRecord).sample.time)
      : 'comm' in record
        ? record.comm
        : 'map',
  );
  assert.deepEqual(order, ['app', 'map', ...times.flatMap((time) => [String(time), `name${time}`])]);
});

describe('code that was made while the program ran', () => {
  const DUMP = '/work/jit-10.dump';
  const MADE = 0x20_0000n;
  const LOADED_NS = 100;
  const codeBytes = 0x3c;
  const load: JitRecord = {
    kind: 'load',
    time: LOADED_NS,
    pid: 10,
    tid: 10,
    address: MADE,
    codeIndex: 1n,
    name: 'py::work:/w.py',
    code: new Uint8Array(codeBytes),
    sizeBytes: codeBytes,
  };
  const unwinding: JitRecord = {
    kind: 'unwinding',
    time: LOADED_NS,
    mappedBytes: 0,
    ...jitFrameBytes(codeBytes, 24),
  };
  const maps = [
    ...MAPS,
    mmap2(10, MADE, 0x1000n, '//anon', 3n),
    mmap2(10, 0x7f00_0000_0000n, 0x1000n, DUMP, 4n),
  ];
  /** In that code, which the app called. The frame pointer is still the app's. */
  const sampleAt = (time: bigint) =>
    stackSample({ time, ip: MADE + 0x10n, words: [7n, 7n, 0x1105n, 9n, 0n, 0x1209n], bp: STACK + 32n }, true);
  const chainsOf = async (dump: JitRecord[], clock: { useClockId?: number; clockId?: number } = {}) => {
    const driver = new MemoryDriver({ [`jitdump ${DUMP}`]: jitDumpBytes(dump, true, false) });
    const { useClockId = 0, clockId = 0 } = clock;
    const attr = makeAttr({ ...STACKS, clockId, flags: { ...STACKS.flags, useClockId } });
    const { found } = await unwound([...maps, sampleAt(50n), sampleAt(200n)], true, driver, attr);
    assert.equal(driver.openFiles, 0);
    return samplesOf(found).map(({ sample: { callchain } }) => callchain!.slice(3));
  };
  const WITH_RULE = [MADE + 0x10n, 0x1104n, 0x1208n];
  const BY_POINTER = [MADE + 0x10n, 0x1208n];

  test('frame information is in the dump of its runtime, from its load on', async () => {
    const monotonic = { useClockId: 1, clockId: 1 };
    assert.deepEqual(await chainsOf([unwinding, load], monotonic), [BY_POINTER, WITH_RULE]);
    // Of another clock: what is there last holds.
    assert.deepEqual(await chainsOf([unwinding, load]), [WITH_RULE, WITH_RULE]);
  });

  test('without any, frame pointers lead on', async () => {
    assert.deepEqual(await chainsOf([load]), [BY_POINTER, BY_POINTER]);
    // Of other code.
    assert.deepEqual(await chainsOf([unwinding, { ...load, address: MADE + 0x100n }]), [
      BY_POINTER,
      BY_POINTER,
    ]);
  });
});

test('the vdso of a 32-bit program keeps no frame pointers: without its rules a stack ends there', async () => {
  const vdso = mmap2(10, 0xf7f0_0000n, 0x1000n, '[vdso]', 2n);
  // Whatever the frame pointer is: here it would lead to a caller in the app.
  const record = stackSample({ words: [], bp: 0n, abi: 1 }, true);
  record.sample.userRegisters!.registers = [0x1000n, 0x1000n, 0xf7f0_0010n];
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(0, 0x1008, true);
  new DataView(bytes.buffer).setUint32(4, 0x1105, true);
  record.sample.userStack = { bytes, dynamicSize: 16 };
  const { found, added } = await unwound([...MAPS, vdso, record]);
  assert.deepEqual(samplesOf(found)[0]!.sample.callchain!.slice(3), [0xf7f0_0010n]);
  assert.deepEqual(
    added!.losses.map(({ kind }) => kind),
    ['user-stack-not-unwound'],
  );
});

describe('what is missing is told', () => {
  const lossesOf = async (...facts: StackFacts[]) => {
    const { added } = await unwound([...MAPS, ...facts.map((one) => stackSample(one, true))]);
    return added!.losses.map(({ kind, event, count, fromNs, toNs }) =>
      [kind, event, count, fromNs, toNs].join(' '),
    );
  };

  test('copies that are too small, stacks that lead nowhere', async () => {
    const cut = (time: bigint) => ({ ...TWO_FRAMES(time), bp: STACK + 4096n });
    const nowhere = { ...TWO_FRAMES(9n), words: [1n, 1n, 1n], bp: STACK + 8n };
    assert.deepEqual(await lossesOf(cut(5n), cut(6n), nowhere, TWO_FRAMES(11n)), [
      'user-stack-cut cpu-clock 2 5 6',
      'user-stack-not-unwound cpu-clock 1 9 9',
    ]);
  });

  test('files that are not there, once each', async () => {
    const { added } = await unwound([
      ...MAPS,
      stackSample(TWO_FRAMES(5n), true),
      stackSample(TWO_FRAMES(6n), true),
    ]);
    assert.deepEqual(
      added!.diagnostics.map(({ code, path }) => `${code} ${path}`),
      ['no-unwind-information /bin/app'],
    );
  });

  test('a file that is another build than the recorded one', async () => {
    const node = new Uint8Array(readFileSync(process.execPath));
    const map = { ...mmap2(10, 0x1000n, 0x1000n, '/bin/app', 2n), misc: 2 | (1 << 14) };
    Object.assign(map, { buildId: Uint8Array.from({ length: 20 }, () => 0xab), buildIdSize: 20 });
    const { found, added } = await unwound(
      [comm(10, 'app', 1n), map, stackSample(TWO_FRAMES(), true)],
      true,
      new MemoryDriver({ 'binary /bin/app': node }),
    );
    assert.equal(samplesOf(found)[0]!.sample.callchain?.length, 6, 'by frame pointers');
    assert.match(added!.diagnostics[0]!.detail, /not the one that was recorded/);
  });
});

test('profiles and figures say nothing of stacks that were unwound', async () => {
  const bytes = recording([...MAPS, stackSample(TWO_FRAMES(), true)], {}, STACKS);
  const source = async () =>
    withUnwoundStacks(await openPerfData(memorySource(bytes)), { files: new MemoryDriver() });
  const { profile, diagnostics } = await ingestPerfData(await source());
  assert.deepEqual(profile.loss, []);
  assert.deepEqual(
    diagnostics.map(({ code }) => code),
    ['no-unwind-information'],
  );
  assert.deepEqual((await collectStats(await source())).loss, []);
  // Without it they are a loss, and a note.
  const plain = await ingestPerfData(await openPerfData(memorySource(bytes)));
  assert.deepEqual(
    plain.profile.loss.map(({ kind }) => kind),
    ['user-stack-not-unwound'],
  );
});
