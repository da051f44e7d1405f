export type { Check, CheckState, Fact } from './check.ts';
export { checkDescriptors } from './check-limits.ts';
export { checkNode, checkPerfMaps } from './checks.ts';
export { type Examination, examineMachine } from './examine.ts';
export {
  CAP_BPF,
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  canMonitorAll,
  hasCapability,
  type KernelFiles,
  kernelSetting,
  paranoidLevel,
  readKernelFile,
  realFiles,
  uprobesNeedAdmin,
} from './kernel-settings.ts';
export { type LoginPlaces, loginCommands, RIGHTS_HELPER, tracefsRemedy } from './remedies.ts';
export { readStanding, refusal, type Standing } from './rights.ts';
