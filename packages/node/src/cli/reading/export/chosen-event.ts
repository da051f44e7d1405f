import { CounterpointError, printable } from '@counterpoint/core/base';
import type { ProfileEvent } from '@counterpoint/core/profile';

/** The event of that name or number, by default the first with samples. Throws `ERR_NO_SUCH_EVENT`. */
export function chosenEvent(events: readonly ProfileEvent[], name: string | undefined): number {
  if (name === undefined)
    return Math.max(
      0,
      events.findIndex((event) => event.samples > 0),
    );
  const byName = events.findIndex((event) => event.name === name);
  // Copies of an event, of several sampling formats, have one name.
  const found = byName < 0 && /^\d{1,4}$/.test(name) && events[Number(name) - 1] ? Number(name) - 1 : byName;
  if (found >= 0) return found;
  throw new CounterpointError(
    'ERR_NO_SUCH_EVENT',
    `the recording has no event "${name}"`,
    `It has: ${events.map((event, index) => `${index + 1}: ${printable(event.name)}`).join(', ')}`,
  );
}
