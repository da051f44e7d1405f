export { CodeHistory, codeHistory, type LineTime } from './code-history.ts';
export { type JitCodeName, jitCodeName } from './code-names.ts';
export { HEX_VALUE } from './hex.ts';
export {
  type CodePlace,
  type CodePosition,
  codePlacesAt,
  decodeInlinedCode,
  type InlinedCall,
  type InlinedCode,
  InlinedCodeWriter,
} from './inlined-code.ts';
export {
  type JitClose,
  type JitCodeLoad,
  type JitCodeMove,
  type JitDebugInfo,
  type JitDump,
  type JitLine,
  type JitRaw,
  type JitRecord,
  type JitUnwinding,
  parseJitDump,
} from './jitdump.ts';
export { decodeMapTimes, encodeMapTimes, type MapTime } from './map-times.ts';
export { type PerfMap, PerfMapParser, parsePerfMap } from './perf-map.ts';
export {
  decodeRecordedFiles,
  encodeRecordedFiles,
  RECORDED_INLINED_CODE,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
  type RecordedFile,
} from './recorded-files.ts';
export { parseScriptName, type ScriptName, TIER_NAMES, TIER_WORDS } from './script-names.ts';
