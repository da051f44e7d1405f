/**
 * The module that a browser's worker runs, for `webPartWorker`: `new Worker(new URL('…/intel-pt-worker.js'),
 * { type: 'module' })`. Importing it makes this thread one. It is whole: it imports nothing.
 */
import type { ToWorker } from '../pt/parallel/messages.ts';
import { servePartWorker } from '../pt/parallel/serve-part-worker.ts';

/** The part of DedicatedWorkerGlobalScope that is used. */
interface WorkerScope {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: { data: ToWorker }) => void): void;
}

const scope = globalThis as unknown as WorkerScope;
if (typeof scope.addEventListener !== 'function')
  throw new TypeError(
    'this module is the program of a worker in a browser: import @counterpoint/trace/intel-pt here',
  );
const handle = servePartWorker((message, transfer) => scope.postMessage(message, [...transfer]));
scope.addEventListener('message', ({ data }) => handle(data));
