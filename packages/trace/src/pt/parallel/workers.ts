import { CounterpointError, checkArgument } from '@counterpoint/core/base';
import type { FromWorker, PartWorker, ToWorker } from './messages.ts';
import { servePartWorker } from './serve-part-worker.ts';

/** What a browser's `Worker` can do. */
export interface WebWorkerLike {
  /** As of `Worker`. */
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  /** As of `Worker`: `message`, `error` and `messageerror` are listened to. */
  addEventListener(type: string, listener: (event: { data?: unknown; message?: string }) => void): void;
  /** As of `Worker`. */
  terminate(): void;
}

/**
 * A worker of a page, for `profileInParts`. It runs the module `@counterpoint/trace/intel-pt-worker`:
 *
 *     const url = new URL('@counterpoint/trace/intel-pt-worker', import.meta.url); // as Vite bundles it
 *     webPartWorker(new Worker(url, { type: 'module' }));
 */
export function webPartWorker(worker: WebWorkerLike): PartWorker {
  const isWorker = { postMessage: 'function', addEventListener: 'function' };
  checkArgument(isWorker, 'webPartWorker()', 'the worker', worker, 'a Worker of a page');
  return {
    post: (message, transfer) => worker.postMessage(message, [...transfer]),
    listen: (onMessage, onError) => {
      worker.addEventListener('message', ({ data }) => onMessage(data as FromWorker));
      worker.addEventListener('error', ({ message }) =>
        onError(failedWorker(message === undefined || message === '' ? 'it was not loaded' : message)),
      );
      worker.addEventListener('messageerror', () => onError(failedWorker('a message of it cannot be read')));
    },
    close: () => worker.terminate(),
  };
}

function failedWorker(why: string): CounterpointError {
  return new CounterpointError(
    'ERR_PT_WORKER',
    `a decoding worker failed: ${why}`,
    'Make it of the module @counterpoint/trace/intel-pt-worker, served as JavaScript by the page\'s own server, with { type: "module" }.',
  );
}

/** The error that a `PartWorker` throws where it is asked after its end. */
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
 * No thread at all: parts are decoded in this one, one after the other. For where threads are not to be had.
 * Beside threads, `later` must let their messages through (Node's `setImmediate`).
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
