import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_COUNT_SW_CONTEXT_SWITCHES,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { makeAttr } from '@counterpoint/core/records';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import type { Fd, Sys } from '../../kernel/sys/index.ts';
import { countedOverflows, skippedOverflows } from './skipped-overflows.ts';

/** Of a software event (include/uapi/linux/perf_event.h). */
const PAGE_FAULTS = 2;

interface Facts {
  readonly type?: number;
  readonly config?: number;
  readonly period?: bigint;
  readonly freq?: boolean;
  readonly inherit?: boolean;
  readonly task?: number;
  /** What each of its instances has counted. */
  readonly counts: readonly number[];
}

/** Losses of one event whose instances have counted so much, and whose handler has run so often. */
function lossesOf(runs: bigint, mapNs: number, facts: Facts) {
  const { type = PERF_TYPE_SOFTWARE, config = PAGE_FAULTS, period = 7n } = facts;
  const attr = makeAttr({ type, config: BigInt(config), samplePeriodOrFreq: period });
  attr.flags.freq = facts.freq === true ? 1 : 0;
  attr.flags.inherit = facts.inherit === true ? 1 : 0;
  const instances = facts.counts.map((count) => ({ fd: { count } as unknown as Fd, task: facts.task ?? 1 }));
  const event = { name: 'event', attr, instances, tracepoint: null } as unknown as SampledEvent;
  const sys = {
    read(fd: unknown, bytes: Uint8Array) {
      new DataView(bytes.buffer).setBigUint64(0, BigInt((fd as { count: number }).count), true);
      return 8;
    },
  } as unknown as Sys;
  return skippedOverflows([event], countedOverflows(sys, [event]), [runs], mapNs);
}

test('of a counting event with a fixed period: to the last overflow, instance by instance', () => {
  // 2 and 1 overflows; what each has beyond them is no third one.
  const counts = [20, 13];
  assert.deepEqual(lossesOf(3n, 5000, { counts }), []);
  const skipped = { kind: 'format-skipped', event: 'event', count: 2, exact: true };
  assert.deepEqual(lossesOf(1n, 5000, { counts }), [skipped]);
  assert.deepEqual(lossesOf(1n, 0, { counts, type: PERF_TYPE_HARDWARE }), [{ ...skipped, exact: false }]);
});

test('of clocks, frequencies and what is followed: the time in which maps were read, and nothing by the count', () => {
  const counts = [1_000_000];
  const clock = { counts, config: PERF_COUNT_SW_CPU_CLOCK };
  const switches = { counts, config: PERF_COUNT_SW_CONTEXT_SWITCHES };
  const followed = { counts, inherit: true };
  const atFrequency = { counts, freq: true };
  for (const facts of [clock, switches, followed, atFrequency]) {
    assert.deepEqual(lossesOf(1n, 0, facts), []);
    assert.deepEqual(lossesOf(1n, 5000.4, facts), [{ kind: 'format-map-read', event: 'event', count: 5000 }]);
  }
  // On whole CPUs nothing is followed.
  assert.equal(lossesOf(0n, 0, { ...followed, task: -1 })[0]?.kind, 'format-skipped');
});

test('of tracepoints nothing: the kernel counts itself what it leaves out there', () => {
  assert.deepEqual(lossesOf(1n, 5000, { counts: [100], type: PERF_TYPE_TRACEPOINT }), []);
});
