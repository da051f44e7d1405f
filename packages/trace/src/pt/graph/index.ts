export * from './code-graph.ts';
export {
  type CountListener,
  type EngineEventListener,
  GraphEngine,
  type GraphEngineOptions,
} from './graph-engine.ts';
export { GraphLimit } from './graph-limit.ts';
export { HandOver, headerOf } from './hand-over.ts';
export type { NodeListener, NodeTrail, PathListener, StepPaths } from './node-trail.ts';
export type { HeaderState } from './plain-header.ts';
export { CYCLES_LOGGED } from './run-steps.ts';
export type { StepRunner } from './step-runner.ts';
export type { OutcomeCounts, StepTable } from './step-table.ts';
