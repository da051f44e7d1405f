import { Worker } from 'node:worker_threads';

/**
 * A worker that runs the module at `url`. What tsx does for TypeScript it does for the main thread only (Node
 * 20), so a worker begins by asking for it again.
 */
export function startWorker(url: string): Worker {
  if (!url.endsWith('.ts')) return new Worker(new URL(url));
  const tsx = import.meta.resolve('tsx/esm/api');
  const begin = `import(${JSON.stringify(tsx)}).then(({ register }) => { register(); return import(${JSON.stringify(url)}); })`;
  return new Worker(begin, { eval: true });
}
