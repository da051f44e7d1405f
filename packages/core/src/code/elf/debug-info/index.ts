export { type DebugSections, hasDebugInfo, readDebugSections } from './debug-sections.ts';
export { type UnitFile, unitFile } from './function-names.ts';
export { readSharedLink, type SharedLink } from './shared-link.ts';
export { findSources, type SourceFrame } from './source-finder.ts';
export { SplitPackage } from './split-package.ts';
export { splitUnit } from './split-unit.ts';
export type { Unit } from './unit-facts.ts';
