import type { V8Constants } from './v8-constants.ts';

/** Where V8 keeps its generated code, the functions of its scripts, and what the frames of functions hold. */
export interface CodeSpaceLayout {
  /** Of `Code`; the size is that of its instructions. */
  code: { instructionStream: number; instructionStart: number; flags: number; instructionSize: number };
  /** Values of a code's kind (`kindMask` of its flags). */
  kinds: { baseline: number; maglev: number; turbofan: number; regexp: number };
  kindMask: number;
  /** Of `SharedFunctionInfo`: its bytecode, or the baseline code that has it. */
  functionData: number;
  /** Of `InterpreterData`. */
  interpreterBytecode: number;
  /** Of `BytecodeArray`: where it comes from, and its first byte. */
  bytecodePositions: number;
  bytecodeData: number;
  /** Of `Script`. */
  source: number;
  scriptFunctions: number;
  /** Of `JSFunction`. */
  sharedFunction: number;
  /** From a frame's pointer. */
  frame: { context: number; function: number; bytecode: number; bytecodeOffset: number };
  types: {
    instructionStream: number;
    bytecodeArray: number;
    interpreterData: number;
    weakArrayList: number;
    weakFixedArray: number;
  };
}

/** Of `Code`, where a version exports nothing of them (V8 11). */
const CODE_INSTRUCTION_STREAM = 32;
const CODE_INSTRUCTION_START = 40;
const CODE_FLAGS = 48;
const CODE_INSTRUCTION_SIZE = 56;
/** The first field of its own, of both objects. */
const FIRST_FIELD = 8;
/**
 * Of `BytecodeArray`: behind its wrapper, in versions that have one; and behind the
 * table of handlers before that.
 */
const POSITIONS_BEHIND_WRAPPER = 24;
const POSITIONS_BEHIND_HANDLERS = 32;
const MOST_BYTECODE_HEADER = 96;
/** Behind baseline come the compilers that optimise (V8's `CODE_KIND_LIST`). */
const MAGLEV_BEHIND_BASELINE = 1;
const TURBOFAN_BEHIND_BASELINE = 2;
/** V8 14 has one kind more before these, V8 11 one more between them. */
const REGEXP = 3;
const REGEXP_BEHIND_ONE_MORE = 4;
const BASELINE_BEHIND_ONE_MORE = 11;

const LARGEST_OFFSET = 88;
const FARTHEST_IN_FRAME = -256;
const WORD = 8;

/** A program may export any number. */
function isPlausible({ code, frame, bytecodeData }: CodeSpaceLayout): boolean {
  return (
    bytecodeData >= 0 &&
    bytecodeData <= MOST_BYTECODE_HEADER &&
    Object.values(code).every((offset) => offset >= 0 && offset <= LARGEST_OFFSET) &&
    Object.values(frame).every((offset) => offset >= FARTHEST_IN_FRAME && offset <= -WORD)
  );
}

/** By V8's exported constants. */
export function codeSpaceLayout(constants: V8Constants): CodeSpaceLayout | null {
  let isWhole = true;
  const value = (name: string, otherwise: number | null = null): number => {
    const found = constants.get(name) ?? otherwise;
    if (found === null) isWhole = false;
    return found ?? 0;
  };
  const baseline = value('CodeKindBaseline');
  // Versions that export one of them export all.
  const hasCode = constants.has('class_Code__instruction_size__int');
  const ofCode = (name: string, otherwise: number) => value(name, hasCode ? null : otherwise);
  const layout: CodeSpaceLayout = {
    code: {
      instructionStream: ofCode(
        'class_Code__instruction_stream__Tagged_InstructionStream_',
        CODE_INSTRUCTION_STREAM,
      ),
      instructionStart: ofCode('class_Code__instruction_start__Address', CODE_INSTRUCTION_START),
      flags: ofCode('class_Code__flags__uint32_t', CODE_FLAGS),
      instructionSize: ofCode('class_Code__instruction_size__int', CODE_INSTRUCTION_SIZE),
    },
    kinds: {
      baseline,
      maglev: baseline + MAGLEV_BEHIND_BASELINE,
      turbofan: baseline + TURBOFAN_BEHIND_BASELINE,
      regexp: hasCode && baseline >= BASELINE_BEHIND_ONE_MORE ? REGEXP_BEHIND_ONE_MORE : REGEXP,
    },
    kindMask: value('CodeKindFieldMask'),
    functionData: value('class_SharedFunctionInfo__function_data__Object', FIRST_FIELD),
    interpreterBytecode: FIRST_FIELD,
    bytecodePositions: constants.has('class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_')
      ? POSITIONS_BEHIND_WRAPPER
      : POSITIONS_BEHIND_HANDLERS,
    bytecodeData: value('class_BytecodeArray__data__uintptr_t'),
    source: value('class_Script__source__Object'),
    // The same row serves scripts of WebAssembly for their instances, and only that name is exported.
    scriptFunctions: value(
      'class_Script__wasm_weak_instance_list__WeakArrayList',
      constants.get('class_Script__wasm_weak_instance_list__Tagged_WeakArrayList_') ?? null,
    ),
    sharedFunction: value('class_JSFunction__shared__SharedFunctionInfo'),
    frame: {
      context: value('off_fp_context'),
      function: value('off_fp_function'),
      bytecode: value('off_fp_bytecode_array'),
      bytecodeOffset: value('off_fp_bytecode_offset'),
    },
    types: {
      instructionStream: value('type_InstructionStream__INSTRUCTION_STREAM_TYPE'),
      bytecodeArray: value('type_BytecodeArray__BYTECODE_ARRAY_TYPE'),
      interpreterData: value('type_InterpreterData__INTERPRETER_DATA_TYPE'),
      weakArrayList: value('type_WeakArrayList__WEAK_ARRAY_LIST_TYPE'),
      weakFixedArray: value('type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE'),
    },
  };
  return isWhole && isPlausible(layout) ? layout : null;
}
