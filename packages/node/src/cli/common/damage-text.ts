import type { Damage } from '@counterpoint/core/base';
import { formatCount } from './human.ts';

/** What each kind of damage is, for a person. Behind a colon, a kind has the name of what it is about. */
const WORDS: Readonly<Record<string, string>> = {
  // The header of a perf.data file, and what it points at.
  'data-past-end': 'the records should reach beyond the end of the file',
  'attrs-past-end': 'the table of events reaches beyond the end of the file',
  'too-many-attrs': 'the table of events is larger than this reader takes',
  'ids-past-end': 'the ids of an event lie beyond the end of the file',
  'ids-overlap': 'the ids of two events lie at the same place',
  'too-many-ids': 'an event has more ids than this reader takes',
  'feature-table-cut': 'the table of header sections is cut off',
  'feature-past-end': 'a header section reaches beyond the end of the file',
  'feature-overlap': 'a header section lies where another one is',
  'feature-too-large': 'a header section is larger than this reader takes',
  'bad-feature': 'a header section cannot be read',
  // Records.
  'bad-record-size': 'a record has an impossible size',
  'record-cut': 'a record is cut off',
  'attr-cut': 'the record of an event is cut off',
  'aux-data-cut': 'a piece of a hardware trace is cut off',
  'tracing-data-cut': 'the description of the tracepoints is cut off',
  'tracing-data-too-large': 'the description of the tracepoints is larger than this reader takes',
  'bad-tracing-data': 'the description of the tracepoints cannot be read',
  'repeated-tracing-data': 'the tracepoints are described a second time',
  'unknown-event-id': 'a record is of an event that the recording does not have',
  'unknown-thread': 'a count is of a thread that the recording does not have',
  'short-sample': 'a sample is shorter than its fields',
  'short-count': 'a count is shorter than its fields',
  'no-round': 'the last counts have no time',
  'out-of-order': 'a record comes later than its time allows',
  'too-many-record-types': 'there are more unknown kinds of records than this reader counts',
  'bad-compressed-size': 'a compressed record has an impossible size',
  'bad-compressed-data': 'compressed records cannot be read from here on',
  'compressed-too-large': 'compressed records become larger than this reader takes',
  'nested-compression': 'a compressed record lies in another one',
  'archive-cut': 'the archive that the recording is in is cut off: what names its samples may be missing',
  // Files of a directory.
  'file-missing': 'a file of the recording is missing',
  'link-not-followed': 'a file of the recording is a link, which is not followed',
  'not-a-file': 'a file of the recording is no regular file',
  'no-access': 'a file of the recording may not be read',
  'file-changed': 'a file of the recording changed while it was opened',
  // Histories of fixed-size records.
  'bad-header': 'the header of the history cannot be read',
  'bad-attrs': 'the events of the history cannot be read',
  'bad-sideband': 'what the history says of processes and maps cannot be read',
  'bad-index': 'the index of the history cannot be read',
  'bad-slot': 'a slot of the history does not hold its record',
  'bad-checksum': 'a record of the history is damaged',
  'bad-record': 'a record of the history cannot be read',
  'no-footer': 'the end of the history is missing',
  'cut-off': 'the history is cut off',
};

/**
 * `damage: a record has an impossible size, 3 times, the first at byte 4096`. Programs read the kind in JSON.
 */
export function damageLine({ code, count, firstOffset, file }: Damage): string {
  const colon = code.indexOf(':');
  const kind = colon < 0 ? code : code.slice(0, colon);
  const about = colon < 0 ? '' : ` (${code.slice(colon + 1)})`;
  const where = `at byte ${firstOffset}${file === undefined ? '' : ` of ${file}`}`;
  const often = count === 1 ? where : `${formatCount(count)} times, the first ${where}`;
  return `damage: ${WORDS[kind] ?? kind}${about}, ${often}`;
}

/** For a test: whether a kind has words. */
export function hasDamageWords(kind: string): boolean {
  return kind in WORDS;
}
