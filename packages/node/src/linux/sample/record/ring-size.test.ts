import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_IP,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import type { Note, PlannedEvent } from '../../kernel/perf-events/index.ts';
import { noteRounding, ringBytesPerSecond, ringPages } from './ring-size.ts';

const PAGE = 4096;
const event = (attr: Partial<PerfEventAttr>, freq: number) => {
  const made = makeAttr({ type: PERF_TYPE_SOFTWARE, ...attr });
  made.flags.freq = freq;
  return { attr: made } as PlannedEvent;
};

test('rounded up when asked for; else what users may lock, four times where that is little', () => {
  assert.deepEqual(ringPages(3, PAGE, 2, 1e9), { wanted: 4, enough: 4 });
  const { wanted, enough } = ringPages(undefined, PAGE, 2);
  assert.equal(wanted, enough * 4);
  assert.ok(Number.isInteger(Math.log2(enough)));
});

test('a rounded number of pages is told, another is not', () => {
  const textsOf = (asked: number | undefined) => {
    const notes: Note[] = [];
    noteRounding(asked, ringPages(asked, PAGE, 2), PAGE, notes);
    return notes.map(({ text }) => text);
  };
  assert.deepEqual(textsOf(3), [
    'the buffer of each CPU has 4 pages (16 KiB) instead of 3: the kernel takes powers of two only',
  ]);
  assert.deepEqual([...textsOf(4), ...textsOf(1), ...textsOf(undefined)], []);
});

test('by rate and size of the samples, and never more than 64 MiB of all CPUs where less is enough', () => {
  const { wanted: few, enough } = ringPages(undefined, PAGE, 2);
  const withChains = { sampleType: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN) };
  const slow = ringBytesPerSecond([event({ ...withChains, samplePeriodOrFreq: 4000n }, 1)]);
  assert.equal(ringPages(undefined, PAGE, 2, slow).wanted, few);
  const fast = ringBytesPerSecond([event({ ...withChains, samplePeriodOrFreq: 100_000n }, 1)]);
  const { wanted } = ringPages(undefined, PAGE, 2, fast);
  assert.ok(wanted * PAGE >= 100_000 * 400 * 0.25 && wanted * PAGE * 2 <= 64 << 20, `${wanted} pages`);
  assert.ok(ringPages(undefined, PAGE, 16, fast).wanted < wanted);
  assert.deepEqual(ringPages(undefined, PAGE, 4096, fast), { wanted: enough, enough });
});

test('a period of a clock is a rate, one of anything else is none; without chains samples are small', () => {
  const clock = { config: BigInt(PERF_COUNT_SW_CPU_CLOCK), samplePeriodOrFreq: 10_000n };
  const frequency = event({ samplePeriodOrFreq: 100_000n }, 1);
  assert.equal(ringBytesPerSecond([event(clock, 0)]), ringBytesPerSecond([frequency]));
  const instructions = { type: PERF_TYPE_HARDWARE, config: 1n };
  assert.equal(ringBytesPerSecond([event({ ...instructions, samplePeriodOrFreq: 1000n }, 0)]), 0);
  assert.equal(ringBytesPerSecond([{ ...frequency, hasNoRing: true } as PlannedEvent]), 0);
  assert.equal(ringBytesPerSecond([frequency, frequency]), 2 * ringBytesPerSecond([frequency]));
});
