export { partWorkers, startPartWorkers, threadPartWorker, workersFor } from './thread-part-worker.ts';
