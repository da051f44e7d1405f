export type {
  BpfMapDefinition,
  BpfMapReference,
  BpfMapType,
  BpfProgram,
  BpfProgramType,
  SourceLine,
} from './program.ts';
export { formatSourceLine } from './program.ts';
