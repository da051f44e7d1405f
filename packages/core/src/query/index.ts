export type { CallTreeAnswer, CallTreeNode, CallTreeOptions } from './call-tree.ts';
export { callTree } from './call-tree.ts';
export type { FrameFilter } from './frame-filter.ts';
export * from './script/index.ts';
export type { StatsAnswer, StatsEvent } from './stats.ts';
export { collectStats } from './stats.ts';
export type { SortKey, TopAnswer, TopOptions, TopRow } from './top-functions.ts';
export { parseSortKeys, SORT_KEYS, topFunctions } from './top-functions.ts';
