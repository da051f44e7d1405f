import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { afterEach, describe, test } from 'node:test';
import { MMAP_PAGE_DATA_HEAD, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { encodeAttr, makeAttr } from '@counterpoint/core/records';
import { cannotLoad, clockEvent, countingProgram, countOf, spin } from '../../../test/bpf-programs.ts';
import { until } from '../../../test/until-told.ts';
import { readKernelFile } from '../probe/index.ts';
import { liveHandles, realSys, tracefsRoot } from '../sys/index.ts';
import {
  attachToEvent,
  attachToRawTracepoint,
  loadPrograms,
  otherWatchers,
  programsOnTracepoint,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = cannotLoad();
const PERIOD_NS = 100_000;
const sys = realSys;

const tracefs = tracefsRoot();
/** A call that nobody else makes: what a program does on a tracepoint, it does to all who watch it. */
const tracepointId =
  tracefs === null ? null : readKernelFile(`${tracefs}/events/syscalls/sys_enter_getpriority/id`);
const noTracepoint = tracepointId === null ? 'no tracefs here' : false;
const tracepoint = { type: PERF_TYPE_TRACEPOINT, config: BigInt(tracepointId ?? 0) };

describe('programs on perf events', { skip }, () => {
  for (const [result, what] of [
    [0, 'drops the record'],
    [1, 'keeps the record'],
  ] as const) {
    test(`one that returns ${result} runs at every overflow and ${what}`, () => {
      using set = loadPrograms(sys, [countingProgram('perf-event', result)]);
      using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
      using ring = sys.mmap(event, sys.pageSizeBytes() * 9);
      using _ = attachToEvent(sys, set.program('count'), event);
      sys.enable(event);
      spin(20);
      sys.disable(event);
      const runs = set.map('counters').counter(0);
      const overflows = Math.floor(countOf(event) / PERIOD_NS);
      // A timer that came late makes one overflow of several.
      assert.ok(runs > 10 && runs <= overflows, `${runs} runs, ${overflows} periods`);
      const headBytes = new BigUint64Array(ring.buffer, MMAP_PAGE_DATA_HEAD, 1)[0];
      assert.equal(headBytes, result === 0 ? 0n : BigInt(runs * 24));
      assert.equal(sys.waitReadable(event, 0), result !== 0);
    });
  }

  test('children of an inherited event run it, too', async () => {
    using set = loadPrograms(sys, [countingProgram('perf-event', 0)]);
    const child = spawn('sh', [
      '-c',
      'read go; sh -c "i=0; while [ \\$i -lt 30000 ]; do i=\\$((i+1)); done"; true',
    ]);
    using event = sys.perfEventOpen(
      clockEvent(PERIOD_NS, { inherit: 1, enableOnExec: 1 }),
      child.pid!,
      -1,
      null,
    );
    using _ = attachToEvent(sys, set.program('count'), event);
    child.stdin.end('go\n');
    await once(child, 'exit');
    assert.ok(set.map('counters').counter(0) > 20);
  });

  test('an event takes one program, and another one when that is taken out', () => {
    using set = loadPrograms(sys, [
      countingProgram('perf-event', 0),
      countingProgram('perf-event', 0, 'other'),
    ]);
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    const first = attachToEvent(sys, set.program('count'), event);
    assert.throws(
      () => attachToEvent(sys, set.program('other'), event),
      (error) =>
        error instanceof CounterpointError && error.code === 'ERR_BPF_ATTACH' && /EEXIST/.test(error.message),
    );
    first.close();
    attachToEvent(sys, set.program('other'), event).close();
  });

  test('a program of another type is refused with what fits', () => {
    using set = loadPrograms(sys, [countingProgram('tracepoint', 1)]);
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    assert.throws(
      () => attachToEvent(sys, set.program('count'), event),
      (error) => error instanceof CounterpointError && /perf-event programs/.test(error.remedy),
    );
  });

  test('its runs are counted and timed while somebody asks', () => {
    using set = loadPrograms(sys, [countingProgram('perf-event', 0)]);
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    using _ = attachToEvent(sys, set.program('count'), event);
    using _statistics = sys.bpfEnableStats();
    sys.enable(event);
    spin(10);
    sys.disable(event);
    const { runCount, runTimeNs, name, type } = set.program('count').info();
    assert.equal(runCount, set.map('counters').counter(0));
    assert.ok(runTimeNs > 0);
    assert.deepEqual([name, type], ['count', 'perf-event']);
  });
});

test('a raw tracepoint runs a program until it is taken out', { skip }, async () => {
  using set = loadPrograms(sys, [countingProgram('raw-tracepoint', 0)]);
  const attachment = attachToRawTracepoint(sys, set.program('count'), 'sched_switch');
  assert.ok(await until(() => set.map('counters').counter(0) > 0));
  attachment.close();
  assert.throws(
    () => attachToRawTracepoint(sys, set.program('count'), 'no_such_tracepoint'),
    (error) => error instanceof CounterpointError && error.code === 'ERR_NO_TRACEPOINT',
  );
});

describe('tracepoints', { skip: skip || noTracepoint }, () => {
  const openTracepoint = () => {
    const attr = makeAttr({ ...tracepoint, samplePeriodOrFreq: 1n, flags: { disabled: 1 } });
    return sys.perfEventOpen(encodeAttr(attr), 0, -1, null);
  };

  test('programs of one tracepoint see each other, and a stranger is seen', () => {
    using strangers = loadPrograms(sys, [countingProgram('tracepoint', 1, 'stranger')]);
    using theirs = openTracepoint();
    using _theirs = attachToEvent(sys, strangers.program('stranger'), theirs);
    using set = loadPrograms(sys, [countingProgram('tracepoint', 1)]);
    using event = openTracepoint();
    using _ = attachToEvent(sys, set.program('count'), event);
    const names = programsOnTracepoint(sys, event).map(({ name }) => name);
    assert.ok(names.includes('stranger') && names.includes('count'), names.join());
    const { id } = set.program('count').info();
    const others = otherWatchers(sys, new Set([id]));
    assert.ok(others.some(({ name, type }) => name === 'stranger' && type === 'tracepoint'));
    assert.ok(!others.some((other) => other.id === id));
  });

  test('a program runs although its event is not enabled, and when it returns 0 no event counts the hit', () => {
    using watching = openTracepoint();
    using set = loadPrograms(sys, [countingProgram('tracepoint', 0)]);
    using event = openTracepoint();
    sys.enable(watching);
    getPriority();
    assert.equal(countOf(watching), 1);
    const attachment = attachToEvent(sys, set.program('count'), event);
    for (let call = 0; call < 5; call++) getPriority();
    assert.equal(countOf(watching), 1);
    attachment.close();
    assert.ok(set.map('counters').counter(0) >= 5);
    getPriority();
    assert.equal(countOf(watching), 2);
  });
});
