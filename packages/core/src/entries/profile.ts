/** The tables of a profile. */
export {
  assertTableInvariants,
  type Binary,
  type BinaryKind,
  BranchEdgeTable,
  BranchRangeTable,
  Float64Column,
  FrameTable,
  frameName,
  Int32Column,
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
  ProfileBranches,
  type ProfileEvent,
  type ProfileMeta,
  SampleTable,
  SampleTextTable,
  SourceTable,
  StackTable,
  SymbolTable,
  ThreadTable,
} from '../profile/tables/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export { unitOfEvent } from '../profile/tables/index.ts';
