export { cgroupMounts } from './cgroup-mounts.ts';
export { extraRights, extraRightsRemedy } from './extra-rights.ts';
export { type Inherited, inherited, takeOverFromLauncher } from './inherited.ts';
export type { KernelMap, ModuleMap } from './kernel-map.ts';
export { parseModuleFiles, parseModules, readKernelMap, readModules } from './kernel-map.ts';
export type { ExitStatus, HeldCommand, LaunchOptions } from './launch.ts';
export { COMMAND, LAUNCH_OPTIONS, LEAVE_COMMAND, launchHeld } from './launch.ts';
export type { MappedArea } from './memory-map.ts';
export { PROT_EXEC, parseMappedAreas } from './memory-map.ts';
export { mayStartDeno, mayStartNode } from './node-launchers.ts';
export { openCgroup } from './open-cgroup.ts';
export {
  childrenOf,
  listProcesses,
  listProcessesOf,
  listThreads,
  newestTask,
  onlineCpus,
  parseCpuList,
  processOfThread,
  readProc,
  readProcLink,
  readTask,
  requireProcess,
  requireThread,
  type TaskFacts,
} from './proc.ts';
export { processImage, processStartMs } from './process-start.ts';
export { ProcessTree } from './process-tree.ts';
export {
  CommandError,
  isNodeProgram,
  resolveProgram,
  scriptInterpreter,
  workingDirectory,
} from './program.ts';
export { requireOnline } from './require-online.ts';
export type { RecordSink } from './synthesize.ts';
export {
  commRecord,
  NO_EXTRAS,
  SYNTHESIS_PARTS,
  type SynthesisExtras,
  type SynthesisPart,
  synthesizeKernel,
  synthesizeProcess,
  synthesizeThreads,
} from './synthesize.ts';
export { cgroupRecords, namespacesRecord } from './synthesize-groups.ts';
