import {
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_FINISHED_INIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_STAT,
  PERF_RECORD_STAT_CONFIG,
  PERF_RECORD_STAT_ROUND,
  PERF_RECORD_USER_TYPE_START,
} from '../../../format/abi/index.ts';

/** How the records of a stream follow each other where it ends. */
export interface StreamEnd {
  /** Of the last record that is no content of another; null if there is none. */
  lastType: number | null;
  /** A round ended that had nothing in it. */
  hasEmptyRound: boolean;
}

/** The records with which a recorder can end a stream that it finished. */
export function isEndMark(type: number | null): boolean {
  return type === PERF_RECORD_FINISHED_ROUND || type === PERF_RECORD_FINISHED_INIT;
}

/**
 * A stream says nowhere how long it is, but a recorder ends it with a mark. True where the mark is missing,
 * so that the stream was cut between two records:
 *
 *   header  attr  features...  mappings  FINISHED_INIT  records  FINISHED_ROUND  records  FINISHED_ROUND
 *         ^     ^            ^         ^                       ^                        ^
 *
 * A cut right behind a mark cannot be told from a recording that ended there. perf has ended each
 * round with a mark since it writes features into streams. `perf inject` puts the marks before their
 * records: its first round is empty.
 */
export function isStreamCut(
  { lastType, hasEmptyRound }: StreamEnd,
  recordCounts: ReadonlyMap<number, number>,
): boolean {
  const has = (type: number) => recordCounts.has(type);
  // perf reads once more after the last interval, without a round.
  if (has(PERF_RECORD_STAT_CONFIG))
    return lastType !== PERF_RECORD_STAT_ROUND && lastType !== PERF_RECORD_STAT;
  if (!has(PERF_RECORD_SAMPLE)) return !isEndMark(lastType);
  if (lastType === null || hasEmptyRound || !has(PERF_RECORD_HEADER_FEATURE)) return false;
  const isCompressed = lastType === PERF_RECORD_COMPRESSED || lastType === PERF_RECORD_COMPRESSED2;
  return lastType < PERF_RECORD_USER_TYPE_START || isCompressed;
}
