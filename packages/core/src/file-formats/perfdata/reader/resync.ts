import { RECORD_HEADER_SIZE, RECORD_NAMES } from '../../../format/abi/index.ts';

/**
 * Records are multiples of 8 long, but for some of user space in pipes (BUILD_ID,
 * TRACING_DATA), which are of 4.
 */
const STEP = 4;

/** Whether a record could start here: a known type, and a possible size. */
function isPlausible(view: DataView, at: number, le: boolean): boolean {
  const size = view.getUint16(at + 6, le);
  return size >= RECORD_HEADER_SIZE && size % STEP === 0 && RECORD_NAMES.has(view.getUint32(at, le));
}

/**
 * Where the next record may start after damage at `from`: the first place, in steps of 4, where a plausible
 * header stands and the place after that record is plausible too (or lies beyond `length`). Returns `length`
 * rounded down to a step if there is none.
 */
export function findNextRecord(view: DataView, from: number, length: number, le: boolean): number {
  let at = from + STEP;
  for (; at + RECORD_HEADER_SIZE <= length; at += STEP) {
    if (!isPlausible(view, at, le)) continue;
    const next = at + view.getUint16(at + 6, le);
    if (next + RECORD_HEADER_SIZE > length || isPlausible(view, next, le)) return at;
  }
  return Math.min(at, length);
}
