import type { CodePosition, InlinedCode } from '@counterpoint/core/jit';
import { bytecodeStarts } from './bytecode-sizes.ts';
import type { FunctionPlace } from './function-places.ts';
import { addressOf, field, HeapMismatch, type HeapReader, smi, type Tagged } from './heap-reader.ts';
import type { MapLine } from './optimised-code.ts';
import { positionRows, unsigned } from './source-positions.ts';
import type { V8Layout } from './v8-layout.ts';

/** Bytecode of one function, and where in its source it comes from. */
export interface BytecodeLines {
  /** Of the bytecode. */
  sizeBytes: number;
  /** By ascending offset in the bytecode; the first one is at its start. */
  positions: readonly CodePosition[];
  /** Where the bytecodes begin; null: nobody knows how long they are. */
  starts: readonly number[] | null;
}

const HEAD_BYTES = 64;
const ARRAY_LENGTH = 8;
const MOST_BYTECODE_BYTES = 1 << 24;
const CODE_BYTES = 64;
const STREAM_CODE = 8;

/** Throws HeapMismatch where this is no bytecode, or nobody knows where it comes from. */
export function readBytecodeLines(
  heap: HeapReader,
  layout: V8Layout,
  bytecode: Tagged,
  { script, line, column }: FunctionPlace,
): BytecodeLines {
  const { codeSpace, bytecodeSizes, positionFlagBits } = layout;
  if (codeSpace === null) throw new HeapMismatch('a version that does not tell of its bytecode');
  const { types, bytecodePositions, bytecodeData } = codeSpace;
  const head = heap.object(bytecode, HEAD_BYTES, types.bytecodeArray);
  const sizeBytes = smi(field(head, ARRAY_LENGTH)) ?? -1;
  if (sizeBytes <= 0 || sizeBytes > MOST_BYTECODE_BYTES)
    throw new HeapMismatch(`${sizeBytes} bytes of bytecode`);
  const positions: CodePosition[] = [];
  for (const { at, offset, inlining } of positionRows(
    heap.byteArray(field(head, bytecodePositions)),
    sizeBytes,
    positionFlagBits,
  )) {
    if (offset < 0 || inlining >= 0) continue;
    const place = script.placeOf(offset);
    // What a function does at its entry counts for its first statement.
    if (positions.at(-1)?.offset === at) positions.pop();
    positions.push({ offset: at, call: -1, line: within(place.line), column: within(place.column) });
  }
  if (positions[0]?.offset !== 0)
    positions.unshift({ offset: 0, call: -1, line: within(line), column: within(column) });
  const starts =
    bytecodeSizes === null
      ? null
      : bytecodeStarts(
          bytecodeSizes,
          new Uint8Array(heap.bytes(addressOf(bytecode) + BigInt(bytecodeData), sizeBytes).buffer),
        );
  return { sizeBytes, positions, starts };
}

/**
 * Baseline code is compiled from bytecode, one after the other, and says where each of them begins:
 *
 *     bytecode   LdaZero │ Star0 │ Add a0 ...            each with a place in the source, or as the one before
 *     table      bytes of code: of the entry, of LdaZero, of Star0 ...
 *
 * `functionOf`: the function that has this bytecode; null: nobody knows, or not
 * yet, and so is what comes back.
 */
export function readBaselineCode(
  heap: HeapReader,
  layout: V8Layout,
  line: MapLine,
  functionOf: (bytecodeHolder: Tagged) => { bytecode: Tagged; place: FunctionPlace } | null,
  ownNameOf: (place: FunctionPlace) => string | null = () => null,
): InlinedCode | null {
  const stream = BigInt(line.start - layout.streamHeaderBytes);
  const code = field(heap.bytes(stream, STREAM_CODE + 8), STREAM_CODE);
  const view = heap.object(code, CODE_BYTES, layout.types.code);
  const found = functionOf(field(view, layout.code.deoptimizationData));
  if (found === null) return null;
  const { positions, starts } = readBytecodeLines(heap, layout, found.bytecode, found.place);
  if (starts === null) return null;
  const table = heap.byteArray(field(view, layout.code.sourcePositions));
  const piece = { ...line, calls: [], positions: [...codePositions(table, starts, positions, line.size)] };
  const ownName = ownNameOf(found.place);
  return ownName === null ? piece : { ...piece, functionName: ownName };
}

function* codePositions(
  table: DataView,
  starts: readonly number[],
  positions: readonly CodePosition[],
  size: number,
): Generator<CodePosition> {
  const position = { at: 0 };
  const next = (): number | null =>
    position.at < table.byteLength ? Number(unsigned(table, position)) : null;
  let row = 0;
  yield { ...positions[0]!, offset: 0 };
  let at = next() ?? 0;
  for (const start of starts) {
    const before = row;
    while (row + 1 < positions.length && positions[row + 1]!.offset <= start) row++;
    if (at > size) throw new HeapMismatch(`bytecode at ${at} of ${size} bytes`);
    if (row !== before) yield { ...positions[row]!, offset: at };
    const length = next();
    if (length === null) return;
    at += length;
  }
}

const MOST_PLACE = 2 ** 31;

/** A program may say that its script begins before the first line (`lineOffset` of `vm.Script`). */
function within(value: number): number {
  return value >= 0 && value < MOST_PLACE ? value : 0;
}
