import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { checkArgument } from '@counterpoint/core/base';
import { closedWorker, localPartWorker, type PartWorker } from '@counterpoint/trace/intel-pt';

/**
 * Below this a trace is decoded before threads have compiled their code. Measured on two processors, one
 * worker and two: 19 MB 0.98 and 1.19 s, 72 MB 2.0 and 2.0 s, 215 MB 2.9 and 2.4 s.
 */
const WORTH_THREADS_BYTES = 96 << 20;

/**
 * A thread with less to do costs more than it saves: it compiles the code for itself, and holds some 15 MB.
 */
const LEAST_BYTES_A_WORKER = 2 << 20;

/** How many workers to decode a trace with: as many as asked for, if there is enough for each. */
export function workersFor(traceBytes: number, asked?: number): number {
  const isSize = typeof traceBytes === 'number' && traceBytes >= 0;
  checkArgument(isSize, 'workersFor()', 'the size of the trace', traceBytes, 'a number of bytes');
  if (asked !== undefined) checkCount('workersFor()', asked);
  const wanted = asked ?? (traceBytes < WORTH_THREADS_BYTES ? 1 : availableParallelism());
  return Math.max(1, Math.min(wanted, Math.ceil(traceBytes / LEAST_BYTES_A_WORKER)));
}

function checkCount(where: string, count: unknown): void {
  const isCount = Number.isInteger(count) && (count as number) >= 1;
  checkArgument(isCount, where, 'the number of workers', count, 'a whole number from 1');
}

/**
 * Workers for `profileInParts`: threads, and the calling one, which would only wait for them. It decodes
 * while they start, and what else it has to do comes between two parts.
 */
export function partWorkers(count: number): PartWorker[] {
  checkCount('partWorkers()', count);
  if (count === 1) return [localPartWorker()];
  return [
    ...Array.from({ length: count - 1 }, threadPartWorker),
    localPartWorker((run) => void setImmediate(run)),
  ];
}

/**
 * Workers that start now, for `profileInParts` later or never: they are closed at the
 * end of the block at the latest.
 */
export function startPartWorkers(count: number): AsyncDisposable & { readonly workers: PartWorker[] } {
  const workers = partWorkers(count);
  const close = () => Promise.all(workers.map((worker) => worker.close()));
  return { workers, [Symbol.asyncDispose]: async () => void (await close()) };
}

/** A thread of this process for `profileInParts`. It runs until it is closed. */
export function threadPartWorker(): PartWorker {
  const worker = startThread();
  let isClosed = false;
  // It may fail before anybody listens.
  let failure: unknown = null;
  let tellFailure = (error: unknown): void => {
    failure ??= error;
  };
  worker.on('messageerror', (error) => tellFailure(error));
  worker.on('error', (error) => tellFailure(error));
  worker.on('exit', (status) => {
    if (!isClosed) tellFailure(new Error(`a decoding thread has ended (status ${status})`));
  });
  return {
    post: (message, transfer) => {
      if (isClosed) throw closedWorker();
      worker.postMessage(message, [...transfer]);
    },
    listen: (onMessage, onError) => {
      worker.on('message', onMessage);
      tellFailure = onError;
      if (failure !== null) onError(failure);
    },
    close: async () => {
      isClosed = true;
      await worker.terminate();
    },
  };
}

function startThread(): Worker {
  const here = import.meta.url;
  if (here.endsWith('.ts')) return startFromSources(new URL('./part-worker.ts', here));
  // In the bundle this code is in a file at the top, or in one of the chunks.
  return new Worker(new URL(/\/chunks\/[^/]+$/.test(here) ? '../pt-worker.js' : './pt-worker.js', here));
}

/** What tsx does for TypeScript it does for the main thread only (Node 20): a thread asks for it again. */
function startFromSources(url: URL): Worker {
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const begin = `import(${tsx}).then(({ register }) => { register(); return import(${JSON.stringify(url.href)}); })`;
  return new Worker(begin, { eval: true });
}
