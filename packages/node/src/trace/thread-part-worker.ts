import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { localPartWorker, type PartWorker } from '@counterpoint/core/trace';

/** Below this a trace is decoded before threads have started and compiled their code. */
const WORTH_THREADS_BYTES = 16 << 20;

/** A thread with less to do costs more than it saves: it compiles the code for itself, and holds some 15 MB. */
const LEAST_BYTES_A_WORKER = 2 << 20;

/** How many workers to decode a trace with: as many as asked for, if there is enough for each. */
export function workersFor(traceBytes: number, asked?: number): number {
  const wanted = asked ?? (traceBytes < WORTH_THREADS_BYTES ? 1 : availableParallelism());
  return Math.max(1, Math.min(wanted, Math.ceil(traceBytes / LEAST_BYTES_A_WORKER)));
}

/**
 * Workers for `profileInParts`: threads, and the calling one, which would only wait for them. It decodes while they start, and
 * what else it has to do comes between two parts.
 */
export function partWorkers(count: number): PartWorker[] {
  if (count === 1) return [localPartWorker()];
  return [
    ...Array.from({ length: count - 1 }, threadPartWorker),
    localPartWorker((run) => void setImmediate(run)),
  ];
}

/** A thread of this process for `profileInParts`. It runs until it is closed. */
export function threadPartWorker(): PartWorker {
  const worker = startThread();
  let isClosed = false;
  return {
    post: (message, transfer) => worker.postMessage(message, [...transfer]),
    listen: (onMessage, onError) => {
      worker.on('message', onMessage);
      worker.on('messageerror', onError);
      worker.on('error', onError);
      worker.on('exit', (status) => {
        if (!isClosed) onError(new Error(`a decoding thread has ended (status ${status})`));
      });
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
