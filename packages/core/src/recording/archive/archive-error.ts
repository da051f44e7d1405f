import { CounterpointError } from '../../base/index.ts';

/** An archive that is none, or cannot be read. */
export function archiveError(why: string): CounterpointError {
  return new CounterpointError(
    'ERR_ARCHIVE',
    `this is no archive that can be read: ${why}`,
    'Name a file that `counterpoint archive` or `perf archive` made; copy it again if it was cut off.',
  );
}
