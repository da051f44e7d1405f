export { AuxIndex, type AuxPiece, type TimeConversion } from './aux-index.ts';
export { type AuxQueue, auxQueues } from './aux-queues.ts';
export { type AuxStretch, readStretches, type StretchOptions } from './aux-stretches.ts';
export { overlapOf } from './overlap.ts';
