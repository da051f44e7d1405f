export {
  CodeHistory,
  codeHistory,
  type LineTimes,
  NAME_NOT_CERTAIN,
  UNKNOWN_LINE,
} from './code-history.ts';
export { type JitCodeName, jitCodeName, scriptText } from './code-names.ts';
export { HEX_VALUE } from './hex.ts';
export {
  type CodePlace,
  type CodePosition,
  codePlacesAt,
  decodeInlinedCode,
  type InlinedCall,
  type InlinedCode,
  InlinedCodeTable,
  InlinedCodeWriter,
} from './inlined-code.ts';
export { type JitCode, readJitCode } from './jit-code.ts';
export type { JitCodeLines } from './jit-code-table.ts';
export { type JitDump, parseJitDump } from './jitdump.ts';
export type {
  JitClose,
  JitCodeLoad,
  JitCodeMove,
  JitDebugInfo,
  JitLine,
  JitRaw,
  JitRecord,
  JitUnwinding,
} from './jitdump-records.ts';
export { decodeMapTimes, encodeMapTimes, type MapTime, type MapTimes } from './map-times.ts';
export { type PerfMap, PerfMapParser, parsePerfMap } from './perf-map.ts';
export {
  decodeRecordedFiles,
  encodeRecordedFiles,
  processStarts,
  RECORDED_INLINED_CODE,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
  RECORDED_SOURCE_MAPS,
  type RecordedFile,
} from './recorded-files.ts';
export { parseScriptName, type ScriptName, TIER_NAMES, TIER_WORDS } from './script-names.ts';
