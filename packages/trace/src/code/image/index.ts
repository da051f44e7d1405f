export { CodeChanges, granuleOf } from './code-changes.ts';
export { CodeImage, type CodeSection, LATEST, offsetIn } from './code-image.ts';
export { addElf, addKernelCore, type ElfPlacement, kernelCoreParts, X86_MACHINES } from './elf-code.ts';
export { addJitCode, type JitPlacement } from './jit-code.ts';
export {
  type CodeBytes,
  type CodeFile,
  type CodeHole,
  type CodeLayer,
  type CodeSource,
  EVERY_ADDRESS_SPACE,
  FOREVER,
  type Placement,
} from './layer.ts';
export type { LoadReport } from './load-pending.ts';
export { parseRawCode, type RawCode } from './raw-code.ts';
export { type CodeSnapshot, newSharedBytes } from './snapshot.ts';
