import { type Stats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type ElfFile, openElf, readSymbols } from '@counterpoint/core/elf';
import { openFileSource } from '../locate/index.ts';
import { type CodeSpaceLayout, codeSpaceLayout } from './code-space-layout.ts';

/** Where V8 keeps things, in bytes from the start of an object, and what its types are called. */
export interface V8Layout {
  /** From the map of an `InstructionStream` to its first instruction. */
  streamHeaderBytes: number;
  code: { deoptimizationData: number; sourcePositions: number };
  /** Rows of the array of deoptimisation data. */
  deoptimization: {
    inlinedCount: number;
    literals: number;
    sharedFunction: number;
    inliningPositions: number;
  };
  /** Whether the row of the function holds a wrapper around it. */
  isFunctionWrapped: boolean;
  sharedFunction: { nameOrScopeInfo: number; script: number };
  script: { name: number; lineOffset: number; columnOffset: number; lineEnds: number };
  /** Row of `ScopeInfo` at which source positions begin; null: behind the variables. */
  scopePositions: number | null;
  types: { code: number; sharedFunction: number; script: number; scopeInfo: number; fixedArray: number };
  /** What it takes to find code that nobody wrote names of; null: this version does not tell enough. */
  codeSpace: CodeSpaceLayout | null;
}

/** Of `Code`, in versions that export only the fields behind them. */
const CODE_DEOPTIMIZATION_DATA = 8;
const CODE_SOURCE_POSITIONS = 16;
const CODE_WRAPPER = 24;
/** Of `Script`, between its name and its type; never exported. */
const SCRIPT_LINE_OFFSET = 24;
const SCRIPT_COLUMN_OFFSET = 32;
/**
 * Row of the first variable: flags, parameters and their count stand before it,
 * and since V8 13 the positions.
 */
const FIRST_VARIABLE_BEHIND_POSITIONS = 5;
const POSITIONS_BEFORE_VARIABLES = 3;

/** Of a section without bytes in the file (elf.h). */
const SHT_NOBITS = 8;
const PREFIX = 'v8dbg_';
const layouts = new Map<string, Promise<V8Layout | NoLayout>>();
/** Those of them that have been read. */
const known = new Map<string, V8Layout | NoLayout>();

/** No V8; or one that exports too little, or what is not known. */
export type NoLayout = 'no-v8' | 'unknown-v8';

/** The layout of a program's V8. Rejects where the program cannot be read. */
export async function v8LayoutOf(path: string): Promise<V8Layout | NoLayout> {
  const key = keyOf(await stat(path));
  let layout = layouts.get(key);
  if (layout === undefined) layouts.set(key, (layout = readConstants(path).then(layoutFrom)));
  known.set(key, await layout);
  return await layout;
}

/** Null: it has not been read. */
export function knownLayoutOf(path: string): V8Layout | NoLayout | null {
  try {
    return known.get(keyOf(statSync(path))) ?? null;
  } catch {
    return null;
  }
}

function keyOf({ dev, ino, mtimeMs }: Stats): string {
  return `${dev} ${ino} ${mtimeMs}`;
}

/** Values of the exported constants, 32-bit integers, by name without prefix. */
async function readConstants(path: string): Promise<Map<string, number>> {
  const source = await openFileSource(path);
  try {
    return await constantsOf(await openElf(source));
  } finally {
    await source.close();
  }
}

async function constantsOf(elf: ElfFile): Promise<Map<string, number>> {
  const constants = new Map<string, number>();
  const symbols = await readSymbols(elf, 'dynsym');
  if (symbols === null) return constants;
  const prefix = new TextEncoder().encode(PREFIX);
  const { strings } = symbols;
  for (let row = 0; row < symbols.count; row++) {
    const at = symbols.nameOffset(row);
    if (!prefix.every((byte, index) => strings[at + index] === byte)) continue;
    const value = symbols.value(row);
    const section = elf.sections[symbols.section(row)];
    if (section === undefined) continue;
    const name = symbols.name(row).slice(PREFIX.length);
    // What is zero may be in memory that the file has no bytes of.
    const bytes = await elf.source.read(section.offset + value - section.address, 4);
    const isInFile = section.type !== SHT_NOBITS && bytes.length === 4;
    constants.set(name, isInFile ? new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true) : 0);
  }
  return constants;
}

function layoutFrom(constants: ReadonlyMap<string, number>): V8Layout | NoLayout {
  if (constants.size === 0) return 'no-v8';
  let isWhole = true;
  const value = (...names: string[]): number => {
    for (const name of names) {
      const found = constants.get(name);
      if (found !== undefined) return found;
    }
    isWhole = false;
    return 0;
  };
  const ownFields = constants.get('class_Code__deoptimization_data__FixedArray');
  if (ownFields === undefined && constants.get('class_Code__wrapper__Tagged_CodeWrapper_') !== CODE_WRAPPER)
    return 'unknown-v8';
  const wrappedFunction = constants.get('DeoptimizationDataWrappedSharedFunctionInfoIndex');
  const arePositionsFirst = value('scopeinfo_idx_first_vars') >= FIRST_VARIABLE_BEHIND_POSITIONS;
  const layout: V8Layout = {
    streamHeaderBytes: value('class_InstructionStream__instruction_start__uintptr_t'),
    code: {
      deoptimizationData: ownFields ?? CODE_DEOPTIMIZATION_DATA,
      sourcePositions:
        ownFields === undefined
          ? CODE_SOURCE_POSITIONS
          : value('class_Code__source_position_table__ByteArray'),
    },
    deoptimization: {
      inlinedCount: value('DeoptimizationDataInlinedFunctionCountIndex'),
      literals: value('DeoptimizationDataLiteralArrayIndex'),
      sharedFunction: wrappedFunction ?? value('DeoptimizationDataSharedFunctionInfoIndex'),
      inliningPositions: value('DeoptimizationDataInliningPositionsIndex'),
    },
    isFunctionWrapped: wrappedFunction !== undefined,
    sharedFunction: {
      nameOrScopeInfo: value(
        'class_SharedFunctionInfo__name_or_scope_info__Object',
        'class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_',
        'class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_',
      ),
      script: value(
        'class_SharedFunctionInfo__script_or_debug_info__HeapObject',
        'class_SharedFunctionInfo__script__Tagged_HeapObject_',
      ),
    },
    script: {
      name: value('class_Script__name__Object'),
      lineOffset: SCRIPT_LINE_OFFSET,
      columnOffset: SCRIPT_COLUMN_OFFSET,
      lineEnds: value('class_Script__line_ends__Object'),
    },
    scopePositions: arePositionsFirst ? POSITIONS_BEFORE_VARIABLES : null,
    types: {
      code: value('type_Code__CODE_TYPE'),
      sharedFunction: value('type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE'),
      script: value('type_Script__SCRIPT_TYPE'),
      scopeInfo: value('type_ScopeInfo__SCOPE_INFO_TYPE'),
      fixedArray: value('type_FixedArray__FIXED_ARRAY_TYPE'),
    },
    codeSpace: codeSpaceLayout(constants),
  };
  return isWhole ? layout : 'unknown-v8';
}
