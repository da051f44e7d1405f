/** Code that was made while the program ran: `perf-PID.map`, jitdump. */
export {
  type CodePosition,
  type InlinedCall,
  type InlinedCode,
  InlinedCodeWriter,
  type JitClose,
  type JitCodeLoad,
  type JitCodeMove,
  type JitDebugInfo,
  type JitDump,
  type JitLine,
  type JitRaw,
  type JitRecord,
  type JitUnwinding,
  type MapTime,
  type PerfMap,
  parseJitDump,
  type RecordedFile,
} from '../code/jit/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  decodeInlinedCode,
  decodeRecordedFiles,
  encodeMapTimes,
  encodeRecordedFiles,
  NAME_NOT_CERTAIN,
  parseScriptName,
  RECORDED_INLINED_CODE,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
  RECORDED_SOURCE_MAPS,
} from '../code/jit/index.ts';
/** @internal */
export {
  encodeRecordedMaps,
  type RecordedSourceMap,
  recordedSourceMap,
} from '../code/source-maps/index.ts';
