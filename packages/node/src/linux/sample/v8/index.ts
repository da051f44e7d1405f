export {
  type InterpretedFunctions,
  type StackCopy,
  walkInterpretedFrames,
} from './frame-walker.ts';
export { type InliningGap, InliningWatch } from './inlining-watch.ts';
export { INTERPRETED_BYTES, INTERPRETED_START } from './interpreted-names.ts';
export { withLiveMaps } from './live-maps.ts';
export type { WatchedMap } from './watched-process.ts';
