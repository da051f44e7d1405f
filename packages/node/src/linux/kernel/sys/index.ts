export { affinityOf, setAffinityOf } from './affinity-calls.ts';
export { breakpointsWork } from './breakpoints.ts';
export { type ExecOrder, execHolder, execOrder } from './exec-holder.ts';
export { Fd, liveHandles, Mapping, NativeCode, traceHandles } from './handles.ts';
export {
  type LibPfm,
  loadLibPfm,
  PFM_ATTR_UMASK,
  PFM_ERR_ATTR_VAL,
  PFM_ERR_NOTFOUND,
  PFM_ERR_NOTSUPP,
  PFM_ERR_UMASK,
  PFM_MOST_PMUS,
  PFM_PLM0,
  PFM_PLM3,
  PFM_SUCCESS,
  type PfmPmuInfo,
} from './libpfm.ts';
export { openZstdContext, type ZstdContext } from './libzstd.ts';
export { requireLinux } from './linux.ts';
export { type PinnedText, pinText } from './pinned-text.ts';
export {
  interruptCallsEvery,
  isReadable,
  isSignalPending,
  pendingSignalCode,
  ptraceBreakAt,
  ptraceContinue,
  ptraceDetach,
  ptraceEventMessage,
  ptraceInterrupt,
  ptraceListen,
  ptraceRegisters,
  ptraceSeize,
  ptraceSignalCode,
  ptraceStep,
  readTargetMemory,
  setParentDeathSignal,
  waitForTracee,
  waitUntilWritable,
} from './ptrace-calls.ts';
export {
  ptraceSetRegisters,
  ptraceSetSignalInfo,
  ptraceSetSignalMask,
  ptraceSignalInfo,
  ptraceSignalMask,
  ptraceToCall,
  SIGINFO_WORDS,
  writeTargetMemory,
} from './ptrace-state-calls.ts';
export { realSys } from './real-sys.ts';
export type {
  BpfBatchPosition,
  BpfMapRequest,
  BpfObjectKind,
  BpfProgramRequest,
  ProcessTimes,
  ReadyDescriptor,
  Resource,
  ResourceLimit,
  Sys,
  Watch,
} from './sys.ts';
export { SysError } from './sys-error.ts';
export { tracefsRoot } from './tracefs-calls.ts';
