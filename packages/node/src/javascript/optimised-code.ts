import type { CodePosition, InlinedCode } from '@counterpoint/core/jit';
import type { FunctionPlace, FunctionPlaces } from './function-places.ts';
import { field, HeapMismatch, type HeapReader, smi, type Tagged } from './heap-reader.ts';
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

interface SourcePosition {
  offset: number;
  /** Row of the inlining positions, or -1. */
  inlining: number;
}

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
): InlinedCode | null {
  const stream = BigInt(line.start - layout.streamHeaderBytes);
  const code = field(heap.bytes(stream, STREAM_CODE + 8), STREAM_CODE);
  const view = heap.object(code, CODE_BYTES, layout.types.code);
  try {
    return readPiece(heap, layout, places, line, textOf, view);
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
  textOf: (place: FunctionPlace) => string,
  code: DataView,
): InlinedCode | null {
  const functions = readFunctions(heap, layout, places, field(code, layout.code.deoptimizationData));
  if (!isPlaceOf(functions.own, line.recordedName)) throw new HeapMismatch('another function is there');
  const { calls } = functions;
  const table = heap.byteArray(field(code, layout.code.sourcePositions));
  const positions = [...codePositions(table, functions)];
  if (positions.length === 0) return null;
  return {
    ...line,
    calls: calls.map(({ position: { inlining, offset }, place }) => {
      const outer = inlining < 0 ? functions.own : calls[inlining]!.place;
      const at = offset < 0 ? { line: 0, column: 0 } : outer.script.placeOf(offset);
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
  if (count > literals.length) throw new HeapMismatch(`${count} inlined functions`);
  const inlined = Array.from({ length: count }, (_, index) => places.of(literals[index]!));
  const calls: ReadFunctions['calls'] = [];
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

/** V8's `SourcePosition`: external:1 | offset + 1:30 | inlined call + 1:16. */
function sourcePosition(value: bigint): SourcePosition {
  return {
    offset: Number((value >> 1n) & 0x3fffffffn) - 1,
    inlining: Number((value >> 31n) & 0xffffn) - 1,
  };
}

/**
 * The table is of pairs, each as the difference to the pair before (V8's `source-position-table.cc`): an
 * offset in the code, which is -1 - itself where no statement begins, and a source position.
 */
function* codePositions(table: DataView, { own, calls }: ReadFunctions): Generator<CodePosition> {
  let at = 0;
  const next = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= table.byteLength || shift > 63n) throw new HeapMismatch('source positions that do not end');
      const byte = table.getUint8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return (value >> 1n) ^ -(value & 1n);
  };
  let offset = 0;
  let source = 0n;
  while (at < table.byteLength) {
    const step = Number(next());
    offset += step < 0 ? -step - 1 : step;
    source += next();
    const position = sourcePosition(source);
    const place = position.inlining < 0 ? own : calls[position.inlining]?.place;
    if (place === undefined) throw new HeapMismatch(`inlined call ${position.inlining}`);
    if (position.offset < 0) continue;
    yield { offset, call: position.inlining, ...place.script.placeOf(position.offset) };
  }
}

/** Whether the line of the map is of the function: otherwise its memory has been used again. */
function isPlaceOf({ script, line, column }: FunctionPlace, recordedName: string): boolean {
  return recordedName.endsWith(`${script.name}:${line}:${column}`);
}
