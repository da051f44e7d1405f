import { encodeAttrShortest, type PerfEventAttr } from '../../../format/records/index.ts';

/**
 * One event of a recording: what was asked of the kernel, the ids it gave, and the name the user knows it by.
 */
export interface WrittenEvent {
  /** Its attr (`struct perf_event_attr`). */
  attr: PerfEventAttr;
  /** The ids that its records carry. */
  ids: readonly bigint[];
  /** Its name. */
  name: string;
}

/**
 * The attrs at one size, the shortest published one at which nothing of any of them is cut off: readers
 * refuse an attr that is longer than they know.
 */
export function encodeAttrs(
  events: readonly WrittenEvent[],
  littleEndian: boolean,
  atLeast = 0,
): Uint8Array<ArrayBuffer>[] {
  const size = Math.max(atLeast, ...events.map(({ attr }) => encodeAttrShortest(attr, littleEndian).length));
  return events.map(({ attr }) => encodeAttrShortest(attr, littleEndian, size));
}
