export type { FieldChoice, ScriptField } from './fields.ts';
export { parseFields, SCRIPT_FIELDS } from './fields.ts';
export type { ScriptResult } from './script.ts';
export { writeScript } from './script.ts';
export type { ScriptOptions } from './script-options.ts';
export { TraceKeys, traceFieldKeys } from './trace-keys.ts';
