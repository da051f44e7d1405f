export type { TracepointField, TracepointFormat } from './format-text.ts';
export { parseFormat } from './format-text.ts';
export type { TracingData } from './tracing-data.ts';
export {
  encodeTracingData,
  MAX_TRACING_DATA_SIZE,
  parseTracingData,
  tracingDataOf,
} from './tracing-data.ts';
export type { TracingParts } from './tracing-parts.ts';
export { tracepointNames } from './walk-tracing-data.ts';
