export {
  type InterpretedFunctions,
  type StackCopy,
  walkInterpretedFrames,
} from './frame-walker.ts';
export { type InliningGap, InliningWatch, type WatchedMap } from './inlining-watch.ts';
export { INTERPRETED_BYTES, INTERPRETED_START } from './interpreted-names.ts';
