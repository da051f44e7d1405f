/** Which code was where, when, in which address space: what a trace is decoded against. */
export {
  addElf,
  addJitCode,
  addKernelCore,
  type CodeBytes,
  type CodeFile,
  type CodeHole,
  CodeImage,
  type CodeLayer,
  type CodeSection,
  type CodeSnapshot,
  type CodeSource,
  type ElfPlacement,
  type JitPlacement,
  type LoadReport,
  type Placement,
} from '../code/image/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  newSharedBytes,
  parseRawCode,
  X86_MACHINES,
} from '../code/image/index.ts';
