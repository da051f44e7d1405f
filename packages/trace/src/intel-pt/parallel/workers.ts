import { CounterpointError } from '@counterpoint/core/base';
import type { FromWorker, PartWorker, ToWorker } from './messages.ts';
import { servePartWorker } from './serve-part-worker.ts';

/** What a browser's `Worker` can do. */
export interface WebWorkerLike {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(type: string, listener: (event: { data?: unknown; message?: string }) => void): void;
  terminate(): void;
}

/** A browser's worker that runs the module `@counterpoint/trace/intel-pt-worker`. */
export function webPartWorker(worker: WebWorkerLike): PartWorker {
  return {
    post: (message, transfer) => worker.postMessage(message, [...transfer]),
    listen: (onMessage, onError) => {
      worker.addEventListener('message', ({ data }) => onMessage(data as FromWorker));
      worker.addEventListener('error', ({ message }) =>
        onError(new Error(message ?? 'the worker cannot be loaded')),
      );
      worker.addEventListener('messageerror', () =>
        onError(new Error('a message of the worker cannot be read')),
      );
    },
    close: () => worker.terminate(),
  };
}

/** What `post` throws: nobody would answer. */
export function closedWorker(): CounterpointError {
  return new CounterpointError(
    'ERR_PT_WORKER',
    'a decoding worker is asked that was closed',
    'profileInParts closes the workers that it was given: make new ones for each profile.',
  );
}

/** After all that the caller does now. */
const afterThis = (run: () => void): void => void Promise.resolve().then(run);

/**
 * No thread at all: parts are decoded here, one after the other. Where threads are not to be had, and for one
 * worker. Beside threads `later` must let their messages through (Node's `setImmediate`).
 */
export function localPartWorker(later: (run: () => void) => void = afterThis): PartWorker {
  let handle: ((message: ToWorker) => void) | null = null;
  let isClosed = false;
  const waiting: ToWorker[] = [];
  const handleNext = (): void => {
    if (isClosed) return;
    handle?.(waiting[0]!);
    waiting.shift();
    if (waiting.length > 0) later(handleNext);
  };
  return {
    isCallingThread: true,
    // Later, as from a thread: whoever posts is not called back meanwhile. One message at a time, so that
    // between two parts there is time for threads.
    post: (message) => {
      if (isClosed) throw closedWorker();
      waiting.push(message);
      if (waiting.length === 1) later(handleNext);
    },
    listen: (onMessage) => {
      handle = servePartWorker((message) => {
        if (!isClosed) onMessage(message);
      }, true);
    },
    close: () => {
      isClosed = true;
    },
  };
}
