/**
 * What a worker is told, and what it says: plain data, the same over every kind of port.
 *
 *   main     start ──> part 0 ──> part 2 ──> settle 0 keep ──> finish
 *   worker         <── progress … outcome 0, outcome 2          <── result
 *
 * To cancel is to end the worker: it does not listen while it decodes.
 */
import type { CodeSnapshot } from '../../code/image/index.ts';
import type { ExactProfile, ProfileColumns } from '../answers/exact-profile.ts';
import type { AddressRange } from '../flow/index.ts';
import type { Part, PartOptions, PartOutcome } from './part-runner.ts';

/** `PartOptions` without what cannot be sent. */
export interface WorkerOptions extends Omit<PartOptions, 'filter'> {
  /** The ranges of the filter; empty for none. */
  readonly filterRanges: readonly AddressRange[];
}

/** What a worker is told: plain data, which every kind of port can send. */
export type ToWorker =
  | { readonly type: 'start'; readonly code: CodeSnapshot; readonly options: WorkerOptions }
  | { readonly type: 'part'; readonly part: Part }
  | { readonly type: 'settle'; readonly id: number; readonly keep: boolean }
  | { readonly type: 'finish' };

/** What a worker says: plain data, which every kind of port can send. */
export type FromWorker =
  | { readonly type: 'progress'; readonly id: number; readonly doneBytes: number }
  /** With the memory of the part, if that was given to the worker. */
  | { readonly type: 'outcome'; readonly outcome: PartOutcome; readonly memory: ArrayBuffer | null }
  /** Itself where both are in one thread. */
  | { readonly type: 'result'; readonly profile: ProfileColumns | ExactProfile }
  | { readonly type: 'failed'; readonly message: string };

/** A thread that `servePartWorker` runs in, seen from outside. */
export interface PartWorker {
  /** While it decodes, nothing else happens in the calling thread: others get their parts first. */
  readonly isCallingThread?: boolean;
  /** Send a message; the memory in `transfer` is the worker's afterwards. */
  post(message: ToWorker, transfer: readonly ArrayBuffer[]): void;
  /** Called once, before the first `post`. `onError`: the thread has ended, or cannot go on. */
  listen(onMessage: (message: FromWorker) => void, onError: (error: unknown) => void): void;
  /** End it, whatever it is doing. */
  close(): Promise<void> | void;
}
