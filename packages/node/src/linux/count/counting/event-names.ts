import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import { shownValue } from '../../../host/options/index.ts';

/** Throws for a name that no event has: it would be a reset, or a sum that is preserved, of nothing. */
export function requireEventNames(
  names: readonly string[] | 'all' | undefined,
  known: readonly string[],
): void {
  if (names === undefined || names === 'all') return;
  if (!Array.isArray(names))
    throw new CounterpointError(
      'ERR_NO_EVENT',
      `names of events should be a list, not ${shownValue(names)}`,
      "Give a list of texts, such as ['cycles'], or 'all'.",
    );
  const noName = names.find((name: unknown) => typeof name !== 'string');
  if (noName !== undefined || names.includes(undefined as never))
    throw new CounterpointError(
      'ERR_NO_EVENT',
      `names of events should be texts, but one is ${shownValue(noName)}`,
      "Give a list of texts, such as ['cycles'], or 'all'.",
    );
  const missing = names.find((name) => !known.includes(name));
  if (missing === undefined) return;
  throw new CounterpointError(
    'ERR_NO_EVENT',
    `no event is called ${missing}${didYouMean(nearestNames(missing, known))}`,
    `The session counts ${[...new Set(known)].join(', ')}. Use the names of the request.`,
  );
}
