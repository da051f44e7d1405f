export type { TracepointField, TracepointFormat } from './format-text.ts';
export { parseFormat } from './format-text.ts';
export type { TracingData, TracingParts } from './tracing-data.ts';
export { encodeTracingData, MAX_TRACING_DATA_SIZE, parseTracingData } from './tracing-data.ts';
