export * from './features/index.ts';
export * from './reader/index.ts';
export * from './tracing-data/index.ts';
export * from './writer/index.ts';
