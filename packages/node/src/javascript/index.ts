export { type InliningGap, InliningWatch, type WatchedMap } from './inlining-watch.ts';
