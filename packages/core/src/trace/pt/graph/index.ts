export * from './code-graph.ts';
export { type CountListener, GraphEngine, type GraphEngineOptions } from './graph-engine.ts';
export type { NodeListener, NodePaths, PathListener } from './node-trail.ts';
export type { HeaderState } from './plain-header.ts';
