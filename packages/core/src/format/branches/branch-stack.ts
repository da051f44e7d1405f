import { highBranchFlags, lowBranchFlags, type SampleFields } from '../records/index.ts';
import { type BranchTable, NO_TIME } from './branch-table.ts';

/** Bytes of `struct perf_branch_entry`. */
const BRANCH_ENTRY_BYTES = 24;

/**
 * Append the branches of a sample, the oldest first: a stack has the newest first. Empty entries, with which
 * some kernels fill up a stack, are left out. Gives how many there were.
 *
 * @internal
 */
export function branchStackInto(
  table: BranchTable,
  view: DataView,
  fields: SampleFields,
  littleEndian: boolean,
): number {
  const before = table.length;
  const lo = littleEndian ? 0 : 4;
  const hi = 4 - lo;
  // A sample without TIME has 0 there.
  const hasTime = fields.timeLo !== 0 || fields.timeHi !== 0;
  const timeLo = hasTime ? fields.timeLo : NO_TIME;
  const timeHi = hasTime ? fields.timeHi : NO_TIME;
  const first = fields.branchOffset;
  for (
    let at = first + (fields.branchCount - 1) * BRANCH_ENTRY_BYTES;
    at >= first;
    at -= BRANCH_ENTRY_BYTES
  ) {
    const fromLo = view.getUint32(at + lo, littleEndian);
    const fromHi = view.getUint32(at + hi, littleEndian);
    const toLo = view.getUint32(at + 8 + lo, littleEndian);
    const toHi = view.getUint32(at + 8 + hi, littleEndian);
    if ((fromLo | fromHi | toLo | toHi) === 0) continue;
    const wordLo = view.getUint32(at + 16 + lo, littleEndian);
    const wordHi = view.getUint32(at + 16 + hi, littleEndian);
    const flagsLo = littleEndian ? wordLo : lowBranchFlags(wordLo, wordHi);
    const flagsHi = littleEndian ? wordHi : highBranchFlags(wordLo, wordHi);
    table.push(fromLo, fromHi, toLo, toHi, flagsLo, flagsHi, timeLo, timeHi, fields.cpu, fields.tid);
  }
  return table.length - before;
}
