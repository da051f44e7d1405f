export {
  type Block,
  type BlockCounts,
  countsFrom,
  type Exit,
  type Position,
  returnSite,
  sourceBytes,
} from './block.ts';
export { CodeZone, type TargetMemory } from './code-zone.ts';
export { LOGGED_BYTES, type LogPlace } from './routines.ts';
export * from './system-calls.ts';
export { MOST_SOURCE_BYTES } from './translate.ts';
export { CODE, SAVED_RAX, ZONE_BYTES } from './zone-layout.ts';
