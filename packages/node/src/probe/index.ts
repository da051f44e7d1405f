export {
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  CAP_SYS_PTRACE,
  CAP_SYSLOG,
  canMonitorAll,
  kernelSetting,
  paranoidLevel,
  readKernelFile,
} from './kernel-settings.ts';
