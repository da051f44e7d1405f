import type { PmuEvent } from '@counterpoint/core/events';

/**
 * Events with those of a vendor's table. The kernel's own stay what they are; those of the family give way to
 * a table, which knows the model. Case does not tell names apart, as in the grammar.
 */
export function addTableEvents(
  all: ReadonlyMap<string, PmuEvent>,
  table: ReadonlyMap<string, PmuEvent>,
  own: ReadonlyMap<string, PmuEvent>,
): ReadonlyMap<string, PmuEvent> {
  if (table.size === 0) return all;
  const ownNames = new Set([...own.keys()].map((name) => name.toLowerCase()));
  const added = [...table].filter(([name]) => !ownNames.has(name.toLowerCase()));
  const addedNames = new Set(added.map(([name]) => name.toLowerCase()));
  return new Map([...[...all].filter(([name]) => !addedNames.has(name.toLowerCase())), ...added]);
}
