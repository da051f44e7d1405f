import { optional } from '@counterpoint/core/base';
import type { Note } from '../../kernel/perf-events/index.ts';
import type { RecordOptions } from '../record/index.ts';

/** What the recorder records. */
export interface Order {
  pid: number;
  frequencyHz: number;
  events?: string;
  output: string;
}

/** From the recorder. */
export type Told =
  | { type: 'started' }
  | { type: 'done'; notes: Note[] }
  | { type: 'failed'; message: string; code: string | null; remedy: string };

/** To the recorder: what to record; then, to stop. */
export type Asked = { type: 'record'; order: Order } | { type: 'stop' };

/** Samples have the time of `process.hrtime`. */
const CLOCK_MONOTONIC = 1;

export function recordOptionsOf({ pid, frequencyHz, events, output }: Order): RecordOptions {
  return {
    pids: [pid],
    callGraph: true,
    frequency: frequencyHz,
    clockId: CLOCK_MONOTONIC,
    output,
    ...optional({ events }),
  };
}
