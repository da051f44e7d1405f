export { calledFunctions } from './called-functions.ts';
export { type ClockRates, DEFAULT_RATES } from './execution-clock.ts';
export { type ExecutionBlock, ExecutionCode, KIND_STOPS } from './execution-code.ts';
export { type EncodingOptions, ExecutionEncoder, type ExecutionLimit } from './execution-encoder.ts';
export { type ExecutionPath, type NextStep, STEP_ASYNC, STEP_END, STEP_ON } from './execution-path.ts';
export { ExecutionTruth } from './execution-truth.ts';
export { RandomWalk, type RandomWalkOptions } from './random-walk.ts';
export { RecordedPath } from './recorded-path.ts';
export * from './step-encoder.ts';
