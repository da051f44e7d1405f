import type { SoftCounts } from './soft-counts.ts';
import type { StopWay } from './stop-places.ts';

/** `step`: each instruction in a single step. `fast`: in translated code where that is possible. */
export type SoftWay = 'step' | 'fast';

/** What is an event; `taken`: a branch that led elsewhere than to the next instruction. */
export type SoftKind = 'instructions' | 'branches' | 'cond' | 'calls' | 'taken';

/** An event of which every `period`-th is a sample. */
export interface SoftEventSampling {
  kind: SoftKind;
  period: number;
  /** Samples say who called. */
  hasCallers: boolean;
}

/** How threads are traced: as terms of `soft_pt` say. */
export interface SoftTracing {
  /** Returns to where the call came from are one bit. */
  returnCompression: boolean;
  /** There are TSC packets: nanoseconds of CLOCK_MONOTONIC. */
  hasTsc: boolean;
  /** Bytes between two synchronisation points. */
  psbBytes: number;
}

/** What a tracer is to do: the one argument of its process, as JSON. */
export interface TracerOrder {
  tids: number[];
  /** Count from the next exec on, as for a command that is held. */
  fromExec: boolean;
  /** Its parent: another one means that this one is gone. */
  parentPid: number;
  way: SoftWay;
  /** Only what is executed in calls of this function, and what they call: `NAME`, or `FILE:NAME`. */
  onFunction?: string | undefined;
  /** How threads stop at it; default: the best way of this machine. */
  stopsBy?: StopWay | undefined;
  /** After this many instructions the targets go on by themselves. */
  stopAfter?: number | undefined;
  /** What goes to its descriptor `ROWS_FD`, as rows (`rows.ts`): samples of these events. */
  samples?: SoftEventSampling[];
  /** And Intel PT's packets of each thread. Neither: it only counts. */
  tracing?: SoftTracing | null;
}

export const ROWS_FD = 3;

/** One line of JSON each, on the tracer's standard output. */
export type TracerAnswer =
  | { type: 'attached' }
  | { type: 'done'; counts: SoftCounts; stepped: number }
  | { type: 'failed'; code: string; message: string; remedy: string };
