export { type CoarseProfile, type CoarseProfileOptions, coarseProfile } from './coarse-profile.ts';
export { BYTES_BEHIND_CUT, findCut } from './cut-points.ts';
export type { FromWorker, PartWorker, ToWorker, WorkerOptions } from './messages.ts';
export type { Part, PartOptions, PartOutcome } from './part-runner.ts';
export { PartRunner } from './part-runner.ts';
export {
  type ProfileInPartsOptions,
  profileInParts,
} from './profile-in-parts.ts';
export { servePartWorker } from './serve-part-worker.ts';
export { closedWorker, localPartWorker, type WebWorkerLike, webPartWorker } from './workers.ts';
