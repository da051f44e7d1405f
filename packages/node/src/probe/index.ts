export type { Check, CheckState } from './checks.ts';
export { checkDescriptors, checkNode, checkPerfMaps } from './checks.ts';
export { type Examination, examineMachine } from './examine.ts';
export {
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  canMonitorAll,
  kernelSetting,
  paranoidLevel,
  readKernelFile,
} from './kernel-settings.ts';
