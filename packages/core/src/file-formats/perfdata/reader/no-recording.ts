import { CounterpointError } from '../../../base/index.ts';

/** Something else was given. In few words: every page that reads a recording loads it. */
export function noRecording(where: string): CounterpointError {
  return new CounterpointError(
    'ERR_ARGUMENT',
    `${where}: the recording is not an open one`,
    'Give what `await openPerfData(file)` gives.',
  );
}

/**
 * Throws `ERR_OPTION` for a name that is not known. In few words, too: the lists are short, so all of a list
 * is said in place of the nearest name.
 */
export function checkNames(where: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new CounterpointError(
      'ERR_OPTION',
      `${where}: there is no option ${unknown}`,
      `Known are ${known.join(', ')}.`,
    );
}
