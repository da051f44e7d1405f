export { partWorkers, threadPartWorker, workersFor } from './thread-part-worker.ts';
