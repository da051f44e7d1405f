import { type CodePosition, type InlinedCode, parseScriptName } from '@counterpoint/core/jit';
import type { FunctionPlace, FunctionPlaces } from './function-places.ts';
import { field, HeapMismatch, type HeapReader, smi, type Tagged } from './heap-reader.ts';
import { positionRows, type SourcePosition, sourcePosition } from './source-positions.ts';
import type { V8Layout } from './v8-layout.ts';

/** A line of the perf map. */
export interface MapLine {
  start: number;
  size: number;
  recordedName: string;
}

/** `InstructionStream`: its map, and behind it its `Code`. */
const STREAM_CODE = 8;
const CODE_BYTES = 64;
const WRAPPED_FUNCTION = 8;
/** `InliningPosition`: a source position, the number of a function, padding. */
const INLINING_BYTES = 16;
/**
 * V8 inlines by the size of functions, so that there are a few hundred at most; it numbers calls by 16 bits.
 */
const MOST_INLINED_FUNCTIONS = 1 << 12;
const MOST_CALLS = 1 << 14;
const MOST_PLACE = 2 ** 31;

interface ReadFunctions {
  own: FunctionPlace;
  calls: { position: SourcePosition; place: FunctionPlace }[];
}

/**
 * Takes optimised code apart, while its process runs:
 *
 *     InstructionStream ─ Code ─┬─ source positions: offset in the code -> offset in the source, inlined call
 *                               └─ deoptimisation data ─┬─ functions: own, inlined
 *                                                       └─ inlined calls: position of the call, function
 *
 * Null: nothing of it is known. Throws HeapMismatch where the memory is not what the line says.
 */
export function readOptimisedCode(
  heap: HeapReader,
  layout: V8Layout,
  places: FunctionPlaces,
  line: MapLine,
  textOf: (place: FunctionPlace) => string,
  ownNameOf: (place: FunctionPlace) => string | null = () => null,
): InlinedCode | null {
  const stream = BigInt(line.start - layout.streamHeaderBytes);
  const code = field(heap.bytes(stream, STREAM_CODE + 8), STREAM_CODE);
  const view = heap.object(code, CODE_BYTES, layout.types.code);
  try {
    return readPiece(heap, layout, places, line, { textOf, ownNameOf }, view);
  } catch (error) {
    const data = field(view, layout.code.deoptimizationData);
    // Of code that inlines nothing, only lines are missing then.
    if (error instanceof HeapMismatch && inlinesNothing(heap, layout, data)) return null;
    throw error;
  }
}

/** `code`: the object. */
function readPiece(
  heap: HeapReader,
  layout: V8Layout,
  places: FunctionPlaces,
  line: MapLine,
  {
    textOf,
    ownNameOf,
  }: Record<'textOf', (place: FunctionPlace) => string> &
    Record<'ownNameOf', (place: FunctionPlace) => string | null>,
  code: DataView,
): InlinedCode | null {
  const functions = readFunctions(heap, layout, places, field(code, layout.code.deoptimizationData));
  if (!isPlaceOf(functions.own, line.recordedName)) throw new HeapMismatch('another function is there');
  const { calls } = functions;
  const table = heap.byteArray(field(code, layout.code.sourcePositions));
  const positions = [...codePositions(table, functions, line.size, layout.positionFlagBits)];
  if (positions.length === 0) return null;
  const ownName = ownNameOf(functions.own);
  return {
    ...line,
    ...(ownName === null ? {} : { functionName: ownName }),
    calls: calls.map(({ position: { inlining, offset }, place }) => {
      const outer = inlining < 0 ? functions.own : calls[inlining]!.place;
      const at = offset < 0 ? { line: 0, column: 0 } : placeOf(outer, offset);
      return { functionName: textOf(place), parent: inlining, ...at };
    }),
    positions,
  };
}

/** The function that was compiled, by the deoptimisation data of its optimised code. */
export function compiledFunction(heap: HeapReader, layout: V8Layout, data: Tagged): Tagged {
  const row = heap.elements(data)[layout.deoptimization.sharedFunction];
  if (row === undefined) throw new HeapMismatch('code without deoptimisation data');
  return ownFunction(heap, layout, row);
}

function ownFunction(heap: HeapReader, layout: V8Layout, row: Tagged): Tagged {
  return layout.isFunctionWrapped
    ? field(heap.object(row, WRAPPED_FUNCTION + 8, null), WRAPPED_FUNCTION)
    : row;
}

function inlinesNothing(heap: HeapReader, layout: V8Layout, data: Tagged): boolean {
  const table = heap.elements(data)[layout.deoptimization.inliningPositions];
  return table !== undefined && heap.byteArray(table).byteLength === 0;
}

function readFunctions(
  heap: HeapReader,
  layout: V8Layout,
  places: FunctionPlaces,
  data: Tagged,
): ReadFunctions {
  const rows = layout.deoptimization;
  const elements = heap.elements(data);
  const row = (index: number): Tagged => {
    const value = elements[index];
    if (value === undefined) throw new HeapMismatch('code without deoptimisation data');
    return value;
  };
  const table = heap.byteArray(row(rows.inliningPositions));
  const own = places.of(ownFunction(heap, layout, row(rows.sharedFunction)));
  const count = smi(row(rows.inlinedCount)) ?? 0;
  const literals = count === 0 ? [] : heap.elements(row(rows.literals));
  if (count > Math.min(literals.length, MOST_INLINED_FUNCTIONS))
    throw new HeapMismatch(`${count} inlined functions`);
  const inlined = Array.from({ length: count }, (_, index) => places.of(literals[index]!));
  const calls: ReadFunctions['calls'] = [];
  if (table.byteLength > MOST_CALLS * INLINING_BYTES)
    throw new HeapMismatch('more inlined calls than V8 makes');
  for (let at = 0; at + INLINING_BYTES <= table.byteLength; at += INLINING_BYTES) {
    const position = sourcePosition(table.getBigInt64(at, true));
    const index = table.getInt32(at + 8, true);
    const place = index === -1 ? own : inlined[index];
    if (place === undefined || position.inlining >= calls.length)
      throw new HeapMismatch(`inlined call ${calls.length}`);
    calls.push({ position, place });
  }
  return { own, calls };
}

function* codePositions(
  table: DataView,
  { own, calls }: ReadFunctions,
  size: number,
  flagBits: number,
): Generator<CodePosition> {
  for (const { at, offset, inlining } of positionRows(table, size, flagBits)) {
    const place = inlining < 0 ? own : calls[inlining]?.place;
    if (place === undefined) throw new HeapMismatch(`inlined call ${inlining}`);
    if (offset < 0) continue;
    yield { offset: at, call: inlining, ...placeOf(place, offset) };
  }
}

/** A program may say that its script begins before the first line (`lineOffset` of `vm.Script`). */
function placeOf({ script }: FunctionPlace, offset: number): { line: number; column: number } {
  const { line, column } = script.placeOf(offset);
  const within = (value: number) => (value >= 0 && value < MOST_PLACE ? value : 0);
  return { line: within(line), column: within(column) };
}

/**
 * Whether the line of the map is of the function: otherwise its memory has been used again.
 * Functions that `eval` makes have no file, and templates that are alike have all the same
 * place: these have their names, too.
 */
export function isPlaceOf({ name, script, line, column }: FunctionPlace, recordedName: string): boolean {
  if (!recordedName.endsWith(`${script.name}:${line}:${column}`)) return false;
  if (script.name !== '') return true;
  const own = name();
  return parseScriptName(recordedName)?.name === (own === '' ? '(anonymous)' : own);
}
