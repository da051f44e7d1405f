import { HeapMismatch } from './heap-reader.ts';

/** A place in the source of a script. */
export interface SourcePosition {
  /** -1: unknown. */
  offset: number;
  /** Row of the inlining positions, or -1. */
  inlining: number;
}

/** Where instructions, or bytecodes, come from: those from this one on. */
export interface PositionRow extends SourcePosition {
  /** From the start of the code. */
  at: number;
}

const MOST_POSITIONS = 1 << 17;
/** V8 gives the entry of a function the offset before its first byte, and counts from there. */
const FUNCTION_ENTRY = -1;

/** V8's `SourcePosition`: external:1 | offset + 1:30 | inlined call + 1:16. */
export function sourcePosition(value: bigint): SourcePosition {
  return {
    offset: Number((value >> 1n) & 0x3fffffffn) - 1,
    inlining: Number((value >> 31n) & 0xffffn) - 1,
  };
}

/**
 * The table is of pairs, each as the difference to the pair before (V8's
 * `source-position-table.cc`): an offset in the code above some flags, and a source position. Throws
 * HeapMismatch where an offset is outside of `size`.
 *
 *     V8 11 to 13   offset | no statement begins:1
 *     V8 14         offset | a debugger may stop:1 | a statement begins:1
 */
export function* positionRows(table: DataView, size: number, flagBits: number): Generator<PositionRow> {
  const position = { at: 0 };
  let at = FUNCTION_ENTRY;
  let source = 0n;
  for (let count = 0; position.at < table.byteLength && count < MOST_POSITIONS; count++) {
    at += Number(unsigned(table, position) >> BigInt(flagBits));
    if (at < FUNCTION_ENTRY || at > size) throw new HeapMismatch(`a position at ${at} of ${size} bytes`);
    source += signed(unsigned(table, position));
    yield { at: Math.max(0, at), ...sourcePosition(source) };
  }
}

function signed(value: bigint): bigint {
  return (value >> 1n) ^ -(value & 1n);
}

/** A number of seven bits to a byte, the lowest first; moves `position` behind it. */
export function unsigned(table: DataView, position: { at: number }): bigint {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    if (position.at >= table.byteLength || shift > 63n) throw new HeapMismatch('a number that does not end');
    const byte = table.getUint8(position.at++);
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}
