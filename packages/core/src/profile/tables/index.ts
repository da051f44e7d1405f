export { BranchEdgeTable, BranchRangeTable, ProfileBranches } from './branches.ts';
export { Float64Column, Int32Column } from './column.ts';
export { isOffCpuEvent, unitOfEvent } from './event-kinds.ts';
export { assertTableInvariants } from './invariants.ts';
export { frameName, JIT_WITHOUT_NAMES, recordedName } from './labels.ts';
export type { Binary, BinaryKind, ProfileEvent, ProfileMeta } from './profile.ts';
export {
  checkProfile,
  FrameTable,
  JitCodeTable,
  MODE_GUEST_KERNEL,
  MODE_GUEST_USER,
  MODE_HYPERVISOR,
  MODE_KERNEL,
  MODE_LETTERS,
  MODE_UNKNOWN,
  MODE_USER,
  NONE,
  Profile,
  SampleTable,
  SampleTextTable,
  SourceTable,
  StackTable,
  SymbolTable,
  ThreadTable,
} from './profile.ts';
