/** Code that was made while the program ran: `perf-PID.map`, jitdump. */
export {
  type JitClose,
  type JitCodeLoad,
  type JitCodeMove,
  type JitCodeName,
  type JitDebugInfo,
  type JitDump,
  type JitLine,
  type JitRaw,
  type JitRecord,
  type JitUnwinding,
  type PerfMap,
  parseJitDump,
  parsePerfMap,
} from '../jit/index.ts';
