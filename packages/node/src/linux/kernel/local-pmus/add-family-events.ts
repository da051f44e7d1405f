import type { PmuEvent } from '@counterpoint/core/events';

/**
 * The kernel's events, with descriptions where the family has the same name, then
 * those that only the family names.
 */
export function addFamilyEvents(
  own: ReadonlyMap<string, PmuEvent>,
  family: ReadonlyMap<string, PmuEvent>,
  formats: ReadonlyMap<string, string>,
): Map<string, PmuEvent> {
  const all = new Map(own);
  for (const [name, event] of family) {
    const known = own.get(name);
    const { description } = event;
    if (known !== undefined) {
      if (description !== undefined && description !== '') all.set(name, { ...known, description });
    } else if (event.terms.split(',').every((term) => formats.has(term.split('=', 1)[0]!.trim()))) {
      all.set(name, event);
    }
  }
  return all;
}
