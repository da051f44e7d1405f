/**
 * The module that a browser's worker runs: `new Worker(new URL('…/trace/pt/parallel/web-worker.js'), { type:
 * 'module' })`, for `webPartWorker`. Importing it makes this thread one.
 */
import type { ToWorker } from '../messages.ts';
import { servePartWorker } from '../serve-part-worker.ts';

/** The part of DedicatedWorkerGlobalScope that is used. */
interface WorkerScope {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: { data: ToWorker }) => void): void;
}

const scope = globalThis as unknown as WorkerScope;
const handle = servePartWorker((message, transfer) => scope.postMessage(message, [...transfer]));
scope.addEventListener('message', ({ data }) => handle(data));
