export type { Check, CheckState } from './check.ts';
export { checkDescriptors, checkNode, checkPerfMaps } from './checks.ts';
export { type Examination, examineMachine } from './examine.ts';
export {
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  canMonitorAll,
  type KernelFiles,
  kernelSetting,
  paranoidLevel,
  readKernelFile,
} from './kernel-settings.ts';
