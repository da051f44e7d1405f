export { HEX_VALUE } from './hex.ts';
export { type PerfMap, parsePerfMap } from './perf-map.ts';
