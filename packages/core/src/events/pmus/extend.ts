import { constraintOf } from './build.ts';
import { encodeTerms } from './term-layout.ts';
import type { EventDescription, EventRequirement, EventWords, PmuModel } from './types.ts';
import type { VendorEvent } from './vendor-types.ts';

/**
 * A model with a vendor's events: they can be looked up by name, and a raw event with the code of
 * one is bound to the counters that its table names. Events of other PMUs, and those whose terms
 * this PMU does not have, are left out.
 */
export function withVendorEvents(model: PmuModel, vendorEvents: readonly VendorEvent[]): PmuModel {
  const places = new Map<bigint, EventRequirement['places']>();
  const own: (EventWords & { event: VendorEvent })[] = [];
  for (const event of vendorEvents) {
    if (event.pmu !== null && event.pmu !== model.pmu) continue;
    const words = encodeTerms(model.terms, event.termValues);
    if (words === null) continue;
    own.push({ event, ...words });
    const narrowed = narrow(model, event, model.requirementOf(words));
    if (narrowed !== null) places.set(words.config, narrowed);
  }
  const requirementOf = (words: EventWords): EventRequirement => {
    const requirement = model.requirementOf(words);
    const narrowed = places.get(words.config);
    return narrowed === undefined ? requirement : { ...requirement, places: narrowed };
  };
  const known = new Set(model.events.map(({ name }) => name));
  const added = own
    .filter(({ event }) => !known.has(event.name))
    .map(
      ({ event, config, config1 }): EventDescription => ({
        name: event.name,
        vendorName: event.name,
        terms: event.terms,
        config,
        config1,
        description: event.brief,
        unit: 'events',
        pmu: model.pmu,
        constraint: constraintOf(requirementOf({ config, config1 }), model.counters),
      }),
    );
  return { ...model, events: [...model.events, ...added], requirementOf };
}

/**
 * Fewer places than the family allows; `null` where the table does not restrict, or names no counter
 * that is there. What is on a fixed counter the family knows itself: the code of such an event is
 * also counted by general ones.
 */
function narrow(
  model: PmuModel,
  { general }: VendorEvent,
  { places }: EventRequirement,
): EventRequirement['places'] | null {
  if (general === null || general.length === 0) return null;
  const left = places.filter((place) => {
    const counter = model.counters[place[0]!]!;
    return counter.kind !== 'general' || general.includes(counter.number);
  });
  return left.length === 0 || left.length === places.length ? null : left;
}
