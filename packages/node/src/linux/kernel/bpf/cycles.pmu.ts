import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { PERF_SAMPLE_IP, PERF_SAMPLE_TID } from '@counterpoint/core/abi';
import { encodeAttr } from '@counterpoint/core/records';
import { ForwardRing, mappedRing, RecordScan } from '@counterpoint/core/ring';
import { hardwareEvent, readCount } from '../../../test/raw-count.ts';
import { liveHandles, realSys } from '../sys/index.ts';
import {
  attachToEvent,
  BpfAssembler,
  type BpfMapDefinition,
  BpfRingBuffer,
  bpfStruct,
  listPrograms,
  loadPrograms,
  probeFeatures,
  r1,
  r6,
  r7,
  r8,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const PERIOD = 1_000_000;
const sys = realSys;
const Key = bpfStruct({ process: 'u64', address: 'u64' });
const counters: BpfMapDefinition = {
  name: 'counters',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 2,
};
const RUNS = 0;
const LOST = 1;

function cycles() {
  const flags = { disabled: 1 } as const;
  const sampleType = BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID);
  return encodeAttr({ ...hardwareEvent('cycles', flags), samplePeriodOrFreq: BigInt(PERIOD), sampleType });
}

function work(rounds: number): number {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum = (sum + i * i) | 0;
  return sum;
}

test('this kernel has what sampling formats need', () => {
  const features = probeFeatures(sys)!;
  assert.ok(features.hasTypes);
  for (const type of ['per-cpu-hash', 'stack-trace', 'ring-buffer'] as const)
    assert.ok(features.mapTypes.has(type), type);
  for (const type of ['perf-event', 'tracepoint', 'raw-tracepoint'] as const)
    assert.ok(features.programTypes.has(type), type);
});

test('a histogram of addresses at overflows of the hardware counter has every overflow', () => {
  const histogram: BpfMapDefinition = {
    name: 'histogram',
    type: 'per-cpu-hash',
    keySizeBytes: Key.sizeBytes,
    valueSizeBytes: 8,
    maxEntries: 16384,
  };
  const asm = new BpfAssembler({ name: 'histogram', type: 'perf-event' });
  asm.saveContext(r6);
  asm.countInMap(counters, RUNS);
  const key = asm.stack('key', Key);
  asm.loadProcessId(r7);
  asm.store(key.fields.process, r7);
  asm.loadContext(r8, 'ip');
  asm.store(key.fields.address, r8);
  asm.countInMap(histogram, key, 1, () => asm.countInMap(counters, LOST));
  // The kernel's own records are what the histogram is held against.
  asm.keepRecord();

  using set = loadPrograms(sys, [asm.assemble()]);
  using event = sys.perfEventOpen(cycles(), 0, -1, null);
  const pageBytes = sys.pageSizeBytes();
  using mapping = sys.mmap(event, 65 * pageBytes);
  using _ = attachToEvent(sys, set.program('histogram'), event);
  sys.enable(event);
  work(1_000_000);
  sys.disable(event);
  const periods = Math.floor(Number(readCount(event)) / PERIOD);
  const own = new ForwardRing(mappedRing(mapping.buffer, pageBytes));
  const scan = new RecordScan([], () => {});
  own.take();
  scan.scan(own.memory.data, own.tail, own.head);
  const runs = set.map('counters').counter(RUNS);
  const lost = set.map('counters').counter(LOST);

  let total = 0;
  for (const { count, keys, values } of set.map('histogram').batches('lookup-and-delete')) {
    const counts = new BigUint64Array(values.buffer);
    for (let index = 0; index < count; index++) {
      assert.equal(Key.read(keys, index * Key.sizeBytes).process, BigInt(process.pid));
      for (let copy = 0; copy < set.cpus.length; copy++)
        total += Number(counts[index * set.cpus.length + copy]);
    }
  }
  assert.ok(runs > 10, `${runs} runs`);
  assert.equal(total + lost, runs);
  assert.equal(runs, scan.samples);
  // An interrupt that comes late stands for several periods.
  assert.ok(runs <= periods, `${runs} runs, ${periods} periods`);
});

test('records of a ring buffer carry the context of the interrupt', () => {
  const ring: BpfMapDefinition = {
    name: 'ring',
    type: 'ring-buffer',
    keySizeBytes: 0,
    valueSizeBytes: 0,
    maxEntries: 1 << 16,
  };
  const Sample = bpfStruct({ address: 'u64', period: 'u64' });
  const asm = new BpfAssembler({ name: 'ring', type: 'perf-event' });
  asm.saveContext(r6);
  asm.countInMap(counters, RUNS);
  asm.record(
    ring,
    Sample,
    r7,
    (sample) => {
      asm.loadContext(r1, 'ip');
      asm.store(sample.address, r1);
      asm.loadContext(r1, 'samplePeriod');
      asm.store(sample.period, r1);
    },
    () => asm.countInMap(counters, LOST),
  );
  asm.dropRecord();

  using set = loadPrograms(sys, [asm.assemble()]);
  using buffer = new BpfRingBuffer(sys, set.map('ring'));
  using event = sys.perfEventOpen(cycles(), 0, -1, null);
  using _ = attachToEvent(sys, set.program('ring'), event);
  sys.enable(event);
  work(1_000_000);
  sys.disable(event);
  while (buffer.reader.next()) {
    const { address, period } = Sample.read(buffer.reader.payload());
    assert.equal(period, BigInt(PERIOD));
    assert.ok(address !== 0n);
  }
  buffer.reader.commit();
  const recorded = buffer.reader.records;
  assert.ok(recorded > 10);
  assert.equal(recorded + set.map('counters').counter(LOST), set.map('counters').counter(RUNS));
});

test('nothing stays loaded', async () => {
  const ours = () => listPrograms(sys).filter(({ name }) => name === 'histogram' || name === 'ring');
  // The kernel frees after a grace period.
  for (let tries = 0; ours().length > 0 && tries < 100; tries++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(ours(), []);
});
