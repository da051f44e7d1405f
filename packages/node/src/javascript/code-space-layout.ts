/** Where V8 keeps its generated code, the functions of its scripts, and what the frames of functions hold. */
export interface CodeSpaceLayout {
  /** Of `Code`; the size is that of its instructions. */
  code: { instructionStream: number; instructionStart: number; flags: number; instructionSize: number };
  /** Values of a code's kind (`kindMask` of its flags). */
  kinds: { baseline: number; maglev: number; turbofan: number };
  kindMask: number;
  /** Of `SharedFunctionInfo`: its bytecode, or the baseline code that has it. */
  functionData: number;
  /** Of `InterpreterData`. */
  interpreterBytecode: number;
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
/** Behind baseline come the compilers that optimise (V8's `CODE_KIND_LIST`). */
const MAGLEV_BEHIND_BASELINE = 1;
const TURBOFAN_BEHIND_BASELINE = 2;

/** By V8's exported constants. */
export function codeSpaceLayout(constants: ReadonlyMap<string, number>): CodeSpaceLayout | null {
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
    },
    kindMask: value('CodeKindFieldMask'),
    functionData: value('class_SharedFunctionInfo__function_data__Object', FIRST_FIELD),
    interpreterBytecode: FIRST_FIELD,
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
  return isWhole ? layout : null;
}
