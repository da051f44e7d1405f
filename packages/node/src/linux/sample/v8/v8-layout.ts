import { type Stats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { BytecodeSizes } from './bytecode-sizes.ts';
import { type CodeSpaceLayout, codeSpaceLayout } from './code-space-layout.ts';
import { type CollectionLayout, collectionLayout } from './collections.ts';
import { type V8Constants, type V8Symbols, withV8Constants } from './v8-constants.ts';

/** Where V8 keeps things, in bytes from the start of an object, and what its types are called. */
export interface V8Layout {
  /**
   * Of a version that nobody has compared with what programs are known to do, `15.1`; null: of a tested one.
   */
  untestedVersion: string | null;
  /** Of an offset in a table of source positions, below it (`positionRows`). */
  positionFlagBits: number;
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
  script: {
    name: number;
    lineOffset: number;
    columnOffset: number;
    lineEnds: number;
    /** Of what `eval` made: the function that did, and where. */
    evalFunction: number;
    evalPosition: number;
    /** Of functions that were compiled lazily. */
    lazyPositions: number;
  };
  /** Row of `ScopeInfo` at which source positions begin; null: behind the variables. */
  scopePositions: number | null;
  /** Of `Code`: what the data of a regular expression has in its place; null: the code itself. */
  codeWrapper: number | null;
  /** Type of the data of a regular expression; null: it is an array. */
  expressionData: number | null;
  types: { code: number; sharedFunction: number; script: number; scopeInfo: number; fixedArray: number };
  /** What it takes to find code that nobody wrote names of; null: this version does not tell enough. */
  codeSpace: CodeSpaceLayout | null;
  /** Null: the program does not say it. */
  bytecodeSizes: BytecodeSizes | null;
  /** When objects were collected; null: it is not known of this version. */
  collections: CollectionLayout | null;
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

/** Version of V8 whose tables of source positions have two flags a row; it does not export how many. */
const TWO_FLAGS_SINCE = 14;

/** Those of the Nodes of `npm run nodes`: what is read of them is compared with what programs do. */
export const TESTED_VERSIONS: readonly string[] = ['11.3', '12.4', '13.6', '14.6'];

/** Who exports none of these has no V8, or one that tells nothing. */
const EVERYWHERE = ['FirstNonstringType', 'SmiTag', 'class_Script__name__Object', 'type_Script__SCRIPT_TYPE'];
const layouts = new Map<string, Promise<V8Layout | NoLayout>>();
/** Those of them that have been read. */
const known = new Map<string, V8Layout | NoLayout>();

/** No V8; or one that exports too little, or what is not known. */
export type NoLayout = 'no-v8' | 'unknown-v8';

/** The layout of a program's V8. Rejects where the program cannot be read. */
export async function v8LayoutOf(path: string): Promise<V8Layout | NoLayout> {
  const key = keyOf(await stat(path));
  let layout = layouts.get(key);
  if (layout === undefined) layouts.set(key, (layout = withV8Constants(path, layoutFrom)));
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

function layoutFrom(constants: V8Constants, { bytecodeSizes, version }: V8Symbols): V8Layout | NoLayout {
  if (!EVERYWHERE.some((name) => constants.has(name))) return 'no-v8';
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
    untestedVersion: version !== null && TESTED_VERSIONS.includes(version) ? null : (version ?? 'unknown'),
    positionFlagBits: version !== null && Number.parseInt(version, 10) >= TWO_FLAGS_SINCE ? 2 : 1,
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
      evalFunction: value(
        'class_Script__eval_from_shared_or_wrapped_arguments__Object',
        'class_Script__eval_from_shared_or_wrapped_arguments__Tagged_Object_',
      ),
      evalPosition: value('class_Script__eval_from_position__SMI'),
      lazyPositions: value(
        'class_Script__compiled_lazy_function_positions__Object',
        'class_Script__compiled_lazy_function_positions__Tagged_Object_',
      ),
    },
    codeWrapper: ownFields === undefined ? CODE_WRAPPER : null,
    expressionData: constants.get('type_IrRegExpData__IR_REG_EXP_DATA_TYPE') ?? null,
    scopePositions: arePositionsFirst ? POSITIONS_BEFORE_VARIABLES : null,
    types: {
      code: value('type_Code__CODE_TYPE'),
      sharedFunction: value('type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE'),
      script: value('type_Script__SCRIPT_TYPE'),
      scopeInfo: value('type_ScopeInfo__SCOPE_INFO_TYPE'),
      fixedArray: value('type_FixedArray__FIXED_ARRAY_TYPE'),
    },
    codeSpace: codeSpaceLayout(constants),
    bytecodeSizes,
    collections: collectionLayout(version),
  };
  return isWhole ? layout : 'unknown-v8';
}
