import type { OffCpuSpans } from './off-cpu-spans.ts';

/** Whether a thread ran, waited for something, or was ready to run while no CPU was free. */
export type PartState = 'cpu' | 'waiting' | 'ready';

/** A part of a turn in which a thread did one thing. Parts of a turn leave no gap and do not overlap. */
export interface TurnPart {
  startNs: number;
  endNs: number;
  state: PartState;
  /** Row of `Profile.samples` that says what it did; -1 where none does. */
  row: number;
  /** Row of `Profile.stacks` in which it was; -1 where nobody knows. */
  stack: number;
  /** The stack is what the parts around it have in common. */
  isInferred: boolean;
}

/** One thread's clock samples: rows and their times, ascending. */
export interface ThreadSamples {
  readonly rows: readonly number[];
  timeOf(row: number): number;
}

/**
 * Takes `[startNs, endNs)` apart: the times off the CPU, and between them the time on it, which goes to the
 * nearest sample.
 *
 *     samples          x     x                      x
 *     parts     |──cpu──|cpu──|────waiting────|─cpu────|
 */
export function partsOfTurn(
  startNs: number,
  endNs: number,
  samples: ThreadSamples,
  spans: OffCpuSpans | null,
): TurnPart[] {
  const parts: TurnPart[] = [];
  let at = startNs;
  for (let index = spans?.firstAfter(startNs) ?? 0; spans !== null && index < spans.length; index++) {
    const span = spans.span(index);
    if (span.startNs >= endNs) break;
    const from = Math.max(at, span.startNs);
    const to = Math.min(endNs, span.endNs);
    addRunning(parts, at, from, samples);
    if (to > from)
      parts.push({
        startNs: from,
        endNs: to,
        state: span.isReady ? 'ready' : 'waiting',
        row: span.sample,
        ...UNPLACED,
      });
    at = Math.max(at, to);
  }
  addRunning(parts, at, endNs, samples);
  return parts;
}

const UNPLACED = { stack: -1, isInferred: false } as const;

function addRunning(parts: TurnPart[], startNs: number, endNs: number, samples: ThreadSamples): void {
  if (endNs <= startNs) return;
  const { rows } = samples;
  const first = firstFrom(samples, startNs);
  let at = startNs;
  let row = -1;
  for (let index = first; index < rows.length && samples.timeOf(rows[index]!) < endNs; index++) {
    const time = samples.timeOf(rows[index]!);
    if (row >= 0) {
      const middle = (samples.timeOf(row) + time) / 2;
      parts.push({ startNs: at, endNs: middle, state: 'cpu', row, ...UNPLACED });
      at = middle;
    }
    row = rows[index]!;
  }
  parts.push({ startNs: at, endNs, state: 'cpu', row, ...UNPLACED });
}

/** The first sample at or after this time. */
function firstFrom({ rows, timeOf }: ThreadSamples, timeNs: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeOf(rows[middle]!) < timeNs) low = middle + 1;
    else high = middle;
  }
  return low;
}
