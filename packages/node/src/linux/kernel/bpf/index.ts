export { BpfAssembler } from './assembler.ts';
export { AssemblerError } from './assembler-error.ts';
export { attachToEvent, attachToRawTracepoint, attachTracing, type BpfAttachment } from './attach.ts';
export type { BlockAssembler, LoopControl } from './block-assembler.ts';
export { kernelFunctionId, kernelMemberOffset } from './btf.ts';
export type { CallSite } from './caller-line.ts';
export type { BpfAssemblerOptions, ContextAssembler } from './context-assembler.ts';
export type { CommonContextField, ContextField } from './context-fields.ts';
export {
  type Disassemblable,
  type DisassembledInstruction,
  disassemble,
  disassembleSlot,
  formatListing,
} from './disassemble.ts';
export type { COMPARISONS, Comparison, InstructionAssembler } from './instruction-set.ts';
export {
  type LinkInfo,
  listLinks,
  listMaps,
  listPrograms,
  type MapInfo,
  mapInfo,
  otherWatchers,
  type ProgramInfo,
  programInfo,
  programsOnTracepoint,
} from './listing.ts';
export {
  LoadedProgram,
  LoadedSet,
  type LoadOptions,
  loadPrograms,
  VerifierError,
  verifierLog,
} from './loader.ts';
export type { CallArgument, MapAssembler, MapOperand } from './map-assembler.ts';
export { type BpfBatch, BpfMap, createMap, indexKey } from './maps.ts';
export type { MemoryOperand, Register } from './operands.ts';
export {
  i8,
  i16,
  i32,
  r0,
  r1,
  r2,
  r3,
  r4,
  r5,
  r6,
  r7,
  r8,
  r9,
  r10,
  u8,
  u16,
  u32,
  u64,
  w0,
  w1,
  w2,
  w3,
  w4,
  w5,
  w6,
  w7,
  w8,
  w9,
} from './operands.ts';
export { ownPidNamespace, type PidNamespace } from './pid-namespace.ts';
export { possibleCpus } from './possible-cpus.ts';
export type {
  BpfMapDefinition,
  BpfMapReference,
  BpfMapType,
  BpfProgram,
  BpfProgramType,
  SourceLine,
} from './program.ts';
export { formatSourceLine } from './program.ts';
export type { FinishedSlots, JumpForm, Label, ProgramWriter } from './program-writer.ts';
export {
  type BpfFeatures,
  explainRefusal,
  missingCapabilities,
  probeFeatures,
} from './rights.ts';
export { BpfRingBuffer } from './ring-buffer.ts';
export { type BpfRingMemory, BpfRingReader } from './ring-reader.ts';
export type { StackFrame, StackSlot, StructSlot } from './stack-frame.ts';
export {
  bpfStruct,
  type StructField,
  type StructFields,
  type StructFieldType,
  type StructLayout,
  type StructValue,
} from './struct-layout.ts';
export { adviceFor, readVerdict, type Verdict } from './verifier-log.ts';
