export { threadPartWorker, workersFor } from './thread-part-worker.ts';
