export * from './image/index.ts';
export * from './insn/index.ts';
export * from './pt/index.ts';
