import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PERF_SAMPLE_TID, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { parseFormat } from '@counterpoint/core/perfdata';
import { encodeAttr, makeAttr } from '@counterpoint/core/records';
import {
  countStacks,
  keepAbove,
  latencies,
  latencyBegin,
  latencyEnd,
  Miss,
  recordMiss,
  StackKey,
  starts,
} from '../../../test/bpf-handlers.ts';
import { cannotLoad, clockEvent, spin } from '../../../test/bpf-programs.ts';
import { liveHandles, realSys, tracefsRoot } from '../sys/index.ts';
import {
  attachToEvent,
  BpfAssembler,
  BpfRingBuffer,
  loadPrograms,
  r0,
  r1,
  r2,
  u64,
  VerifierError,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const sys = realSys;
const skip = cannotLoad();
const PERIOD_NS = 100_000;
/** The one field of raw_syscalls:sys_exit that is not its number. */
const RETURN = [{ name: 'ret', offset: 16, size: 8, isSigned: true }];
const TRACEPOINTS = `${tracefsRoot()}/events`;

/** One of perf's tracepoint events on this process, which is not counting yet. */
function tracepointEvent(name: string) {
  const id = BigInt(readFileSync(`${TRACEPOINTS}/${name}/id`, 'utf8').trim());
  const attr = makeAttr({
    type: PERF_TYPE_TRACEPOINT,
    config: id,
    samplePeriodOrFreq: 1n,
    sampleType: BigInt(PERF_SAMPLE_TID),
    flags: { disabled: 1 },
  });
  return sys.perfEventOpen(encodeAttr(attr), 0, -1, null);
}
const skipTracepoints = skip || (existsSync(TRACEPOINTS) ? false : 'no tracefs that is readable');

test('the time between two tracepoints is counted by its power of two', { skip: skipTracepoints }, () => {
  using set = loadPrograms(sys, [latencyBegin(process.pid), latencyEnd(process.pid)]);
  using enter = tracepointEvent('raw_syscalls/sys_enter');
  using exit = tracepointEvent('raw_syscalls/sys_exit');
  using _ = attachToEvent(sys, set.program('latency_begin'), enter);
  using __ = attachToEvent(sys, set.program('latency_end'), exit);
  sys.enable(exit);
  sys.enable(enter);
  for (let index = 0; index < 200; index++) statSync('/');
  sys.disable(enter);
  sys.disable(exit);
  const map = set.map(latencies.name);
  const counts = Array.from({ length: 64 }, (___, power) => map.counter(power));
  const total = counts.reduce((sum, count) => sum + count, 0);
  // Other threads of this process are counted, too.
  assert.ok(total >= 200 && total < 2000, `${total} system calls`);
  // No system call takes less than 16 ns, and none of these more than a minute.
  assert.equal(
    counts
      .slice(0, 4)
      .concat(counts.slice(36))
      .reduce((sum, count) => sum + count, 0),
    0,
  );
  // Only what is under way has a start: one call of each thread of this process.
  assert.ok([...set.map(starts.name).keys()].length <= readdirSync('/proc/self/task').length);
});

test('stacks are counted in the kernel', { skip }, () => {
  using set = loadPrograms(sys, [countStacks()]);
  using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
  using _ = attachToEvent(sys, set.program('count_stacks'), event);
  sys.enable(event);
  spin(30);
  sys.disable(event);
  const map = set.map('stack_counts');
  let total = 0;
  for (const { count, keys, values } of map.batches()) {
    for (let index = 0; index < count; index++) {
      const key = StackKey.read(keys, index * StackKey.sizeBytes);
      assert.equal(key.process, process.pid);
      assert.ok(key.isUser === 0 || key.isUser === 1);
      if (key.isUser === 1) assert.ok(key.kernelStack < 0);
      assert.ok(key.userStack !== 0 || key.kernelStack !== 0);
      const counts = new BigUint64Array(values.buffer, index * map.valueBytes, map.copies);
      total += counts.reduce((sum, one) => sum + Number(one), 0);
    }
  }
  assert.ok(total > 30, `${total} samples`);
  assert.equal(set.map('losses').counter(0), 0);
});

test('a record of our own at each overflow', { skip }, () => {
  using set = loadPrograms(sys, [recordMiss()]);
  using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
  using ring = new BpfRingBuffer(sys, set.map('misses'));
  using _ = attachToEvent(sys, set.program('record_miss'), event);
  sys.enable(event);
  spin(30);
  sys.disable(event);
  const comm = readFileSync(`/proc/self/task/${process.pid}/comm`, 'utf8').trim();
  let records = 0;
  let lastNs = 0n;
  while (ring.reader.next()) {
    const miss = Miss.read(ring.reader.payload());
    assert.equal(miss.thread, process.pid);
    assert.ok(miss.timeNs > lastNs && miss.ip !== 0n);
    assert.equal(Buffer.from(miss.comm).toString('latin1').replace(/\0.*$/s, ''), comm);
    lastNs = miss.timeNs;
    records++;
  }
  ring.reader.commit();
  assert.ok(records > 30, `${records} records`);
});

test('only events whose field is large are kept', { skip: skipTracepoints }, () => {
  const format = parseFormat(
    'raw_syscalls',
    readFileSync(`${TRACEPOINTS}/raw_syscalls/sys_exit/format`, 'utf8'),
  )!;
  const kept = (threshold: number) => {
    using set = loadPrograms(sys, [keepAbove(process.pid, format.fields, 'ret', threshold)]);
    using event = tracepointEvent('raw_syscalls/sys_exit');
    using ring = sys.mmap(event, sys.pageSizeBytes() * 9);
    using _ = attachToEvent(sys, set.program('keep_above'), event);
    sys.enable(event);
    for (let index = 0; index < 500; index++) statSync('/no such file', { throwIfNoEntry: false });
    sys.disable(event);
    // One record of a header and the process is 16 bytes; data_head is at 1024.
    return Number(new BigUint64Array(ring.buffer, 1024, 1)[0]) / 16;
  };
  // Those calls fail, with ENOENT; a few others are made meanwhile.
  const [all, successes] = [kept(-4096), kept(-1)];
  assert.ok(all >= 500 && successes < 250, `${all} kept, ${successes} that succeeded`);
});

test('a program on a tracepoint decides for everybody who records it, and spares other processes', {
  skip: skipTracepoints,
}, () => {
  const recorded = (processId: number | null) => {
    using set = loadPrograms(
      sys,
      processId === null ? [] : [keepAbove(processId, RETURN, 'ret', 0x7fffffff)],
    );
    using recording = tracepointEvent('raw_syscalls/sys_exit');
    using ring = sys.mmap(recording, sys.pageSizeBytes() * 9);
    using other = tracepointEvent('raw_syscalls/sys_exit');
    using _ = processId === null ? null : attachToEvent(sys, set.program('keep_above'), other);
    sys.enable(recording);
    for (let index = 0; index < 50; index++) statSync('/');
    sys.disable(recording);
    return Number(new BigUint64Array(ring.buffer, 1024, 1)[0]) / 16;
  };
  assert.ok(recorded(null) >= 50);
  // `other` is not even enabled. An mmap(2) meanwhile returns an address, which is above.
  assert.ok(recorded(process.pid) < 25);
  assert.ok(recorded(process.pid + 1) >= 50);
});

test('what the verifier refuses is named by the line of this file', { skip }, () => {
  const asm = new BpfAssembler({ name: 'refused', type: 'perf-event' });
  asm.call('ktime_get_ns');
  asm.load(r2, u64(r1));
  const here = Number(/:(\d+):\d+\)?$/.exec(new Error().stack!.split('\n')[1]!)![1]) - 1;
  asm.move(r0, r2);
  asm.exit();
  const program = asm.assemble();
  assert.throws(
    () => loadPrograms(sys, [program]),
    (error) =>
      error instanceof VerifierError &&
      error.line?.file === fileURLToPath(import.meta.url) &&
      error.line.line === here,
  );
});
