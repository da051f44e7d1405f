/// <reference types="node" preserve="true" />
/** Threads that decode hardware traces, for `profileInParts`. */
export { partWorkers, threadPartWorker, workersFor } from '../trace/index.ts';
