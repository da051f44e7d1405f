/** x86 instructions as a trace needs them: length, kind of branch. */
export {
  decodeInstruction,
  INSN_INVALID,
  INSN_TRUNCATED,
  Instruction,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_MOV_CR3,
  KIND_NAMES,
  KIND_OTHER,
  KIND_PTWRITE,
  KIND_RETURN,
  MODE_16,
  MODE_32,
  MODE_64,
} from '../code/instructions/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  DETAIL_NAMES,
  LONGEST_INSTRUCTION,
} from '../code/instructions/index.ts';
