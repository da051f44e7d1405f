export * from './insn/index.ts';
export * from './pt/index.ts';
