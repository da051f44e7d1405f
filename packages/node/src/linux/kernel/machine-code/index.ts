export { Arm64Assembler } from './arm64-assembler.ts';
export type { MachineCode } from './code-buffer.ts';
export {
  type CodeRegister,
  type Condition,
  type Field,
  type PortableAssembler,
  portableAssembler,
} from './portable.ts';
export { X86Assembler, type X86Memory } from './x86-assembler.ts';
