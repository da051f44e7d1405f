import type { MemoryRange } from './code-pages.ts';
import {
  addressOf,
  field,
  HeapMismatch,
  type HeapReader,
  isObject,
  smi,
  type Tagged,
} from './heap-reader.ts';
import type { V8Layout } from './v8-layout.ts';

const WORD = 8;
const PIECE_BYTES = 1 << 20;
const LONGEST_EXPRESSION = 1 << 10;

/**
 * Of the data of an expression, in words from its start: its text, flags, and code for Latin-1
 * and for UTF-16 texts.
 *
 *     V8 11, 12   array of   map │ length │ kind │ text │ flags │ code │ code ...
 *     since 13    object     map │ kind │ text │ flags │ wrapper │ bytecode │ bytecode │ code │ code ...
 */
interface DataShape {
  text: number;
  flags: number;
  codes: readonly number[];
}

const ARRAY: DataShape = { text: 3, flags: 4, codes: [5, 6] };
const OBJECT: DataShape = { text: 2, flags: 3, codes: [7, 8] };

/** By bit of V8's `RegExpFlag`, in the order in which JavaScript writes them. */
const FLAGS: readonly (readonly [string, number])[] = [
  ['d', 128],
  ['g', 1],
  ['i', 2],
  ['l', 64],
  ['m', 4],
  ['s', 32],
  ['u', 16],
  ['v', 256],
  ['y', 8],
];
const MOST_FLAGS = 511;

/**
 * Names of the code of regular expressions, as V8 13 writes them. Code does not lead to its
 * expression, only the expression to its code, so all data of the process is looked through for pointers to
 * the code. Nothing is said of code that two different expressions lead to: one of them is rubbish.
 *
 * `codes`: what leads to the code, its object or the wrapper of that. Null: there was not enough time to look
 * at all of it, and then what was found may be rubbish.
 */
export function expressionNames(
  heap: HeapReader,
  layout: V8Layout,
  ranges: readonly MemoryRange[],
  codes: ReadonlySet<Tagged>,
  untilMs: number,
): Map<Tagged, string> | null {
  const found = new Map<Tagged, Set<string>>();
  const uppers = new Set([...codes].map((code) => Number(code >> 32n)));
  const piece = new Uint8Array(PIECE_BYTES);
  const words = new Uint32Array(piece.buffer);
  for (const { start, end } of ranges)
    for (let from = start; from < end; from += PIECE_BYTES) {
      if (performance.now() > untilMs) return null;
      const size = Math.min(PIECE_BYTES, end - from);
      if (!heap.fill(from, piece.subarray(0, size))) continue;
      for (let at = 1; at < size / 4; at += 2) {
        const upper = words[at]!;
        if (!uppers.has(upper)) continue;
        const code = (BigInt(upper) << 32n) | BigInt(words[at - 1]!);
        if (!codes.has(code)) continue;
        const name = nameAt(heap, layout, from + 4 * (at - 1));
        if (name === null) continue;
        const names = found.get(code) ?? new Set();
        found.set(code, names.add(name));
      }
    }
  const sure = [...found].filter(([, names]) => names.size === 1);
  return new Map(sure.map(([code, [name]]) => [code, name!]));
}

/** Of the expression whose data has its code at this address; null: it is no such data. */
function nameAt(heap: HeapReader, { expressionData, types }: V8Layout, address: number): string | null {
  const [shape, type] = expressionData === null ? [ARRAY, types.fixedArray] : [OBJECT, expressionData];
  for (const row of shape.codes) {
    const start = address - row * WORD;
    try {
      const view = heap.bytes(BigInt(start), row * WORD);
      if (heap.typeOfMap(field(view, 0)) !== type) continue;
      const flags = smi(field(view, shape.flags * WORD));
      const source = field(view, shape.text * WORD);
      if (flags === null || flags < 0 || flags > MOST_FLAGS || !isObject(source)) continue;
      const text = heap.text(source);
      if (text !== null) return nameOf(text, flags);
    } catch (error) {
      if (!(error instanceof HeapMismatch)) throw error;
    }
  }
  return null;
}

function nameOf(text: string, flags: number): string {
  const letters = FLAGS.filter(([, bit]) => (flags & bit) !== 0).map(([letter]) => letter);
  return `RegExp.> src: '${text.slice(0, LONGEST_EXPRESSION)}' flags: '${letters.join('')}'`;
}

/** What data of an expression may have in the place of this code. */
export function leadsTo(heap: HeapReader, { codeWrapper }: V8Layout, code: Tagged): Tagged[] {
  if (codeWrapper === null) return [code];
  try {
    const wrapper = field(heap.bytes(addressOf(code), codeWrapper + WORD), codeWrapper);
    return isObject(wrapper) ? [code, wrapper] : [code];
  } catch (error) {
    if (error instanceof HeapMismatch) return [code];
    throw error;
  }
}
