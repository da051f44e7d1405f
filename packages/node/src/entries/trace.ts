/// <reference types="node" preserve="true" />
/** Threads that decode hardware traces, for `profileInParts`. */
export {
  partWorkers,
  threadPartWorker,
  workersFor,
} from '../host/trace-threads/index.ts';
