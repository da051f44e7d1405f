import {
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_COUNT_SW_TASK_CLOCK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_STACK_USER,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { addNote, type Note, type PlannedEvent } from '../../kernel/perf-events/index.ts';
import { kernelSetting } from '../../kernel/probe/index.ts';

const DEFAULT_PAGES = 128;
/** Of all default rings together. */
const MOST_DEFAULT_BYTES = 64 * 2 ** 20;
/** How long a ring lasts at the highest rate asked for, until it is full. */
const LASTS_SECONDS = 0.25;
/** A sample without its chain, and a chain of some 40 frames, kernel and user. */
const SAMPLE_BYTES = 64;
const CHAIN_BYTES = 336;
const NS_PER_SECOND = 1e9;

export interface RingPages {
  wanted: number;
  /** Fewer than these are worth a word. */
  enough: number;
}

/**
 * Pages of a ring: what was asked for. Else what perf takes, which every user may lock per CPU (512 KiB as a
 * rule), is enough. Where more may be locked it is four times that, a quarter of the wake-ups, or as much as
 * lasts a while at these rates.
 */
export function ringPages(
  asked: number | undefined,
  pageSizeBytes: number,
  cpuCount: number,
  bytesPerSecond = 0,
): RingPages {
  if (asked !== undefined) {
    const pages = powerOfTwo(asked);
    return { wanted: pages, enough: pages };
  }
  const lockableKb = kernelSetting('perf_event_mlock_kb');
  const lockable = lockableKb === null ? DEFAULT_PAGES : (lockableKb * 1024) / pageSizeBytes - 1;
  const enough = 2 ** Math.floor(Math.log2(Math.max(1, lockable)));
  const lasting = powerOfTwo((bytesPerSecond * LASTS_SECONDS) / pageSizeBytes);
  let wanted = Math.max(enough * 4, lasting);
  while (wanted > enough && wanted * pageSizeBytes * cpuCount > MOST_DEFAULT_BYTES) wanted /= 2;
  return { wanted, enough };
}

/** The kernel takes powers of two only: say it where another number was asked for. */
export function noteRounding(
  asked: number | undefined,
  { wanted }: RingPages,
  pageSizeBytes: number,
  notes: Note[],
): void {
  if (asked === undefined || asked === wanted) return;
  const size = `${(wanted * pageSizeBytes) / 1024} KiB`;
  addNote(notes, {
    kind: 'ring-rounded',
    text: `the buffer of each CPU has ${wanted} pages (${size}) instead of ${asked}: the kernel takes powers of two only`,
  });
}

function powerOfTwo(pages: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, pages)));
}

/** What these events may write into one CPU's ring, as far as their rate is known. */
export function ringBytesPerSecond(events: readonly PlannedEvent[]): number {
  return events.reduce((sum, event) => sum + samplesPerSecond(event) * sampleBytes(event), 0);
}

/** 0: it comes as often as it happens. */
export function samplesPerSecond({ attr, hasNoRing }: Pick<PlannedEvent, 'attr' | 'hasNoRing'>): number {
  const value = Number(attr.samplePeriodOrFreq);
  if (hasNoRing === true || value === 0) return 0;
  if (attr.flags.freq !== 0) return value;
  const isClock =
    attr.type === PERF_TYPE_SOFTWARE &&
    (attr.config === BigInt(PERF_COUNT_SW_CPU_CLOCK) || attr.config === BigInt(PERF_COUNT_SW_TASK_CLOCK));
  return isClock ? NS_PER_SECOND / value : 0;
}

function sampleBytes({ attr }: PlannedEvent): number {
  const bits = Number(attr.sampleType);
  const chain = (bits & PERF_SAMPLE_CALLCHAIN) === 0 ? 0 : CHAIN_BYTES;
  const stack = (bits & PERF_SAMPLE_STACK_USER) === 0 ? 0 : attr.sampleStackUser;
  return SAMPLE_BYTES + chain + stack;
}
