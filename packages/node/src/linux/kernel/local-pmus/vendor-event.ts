import type { PmuEvent } from '@counterpoint/core/events';
import type { VendorEvent } from '@counterpoint/core/pmus';

/** The kernel takes periods below 2^63. */
const MOST_PERIOD = (1n << 63n) - 1n;

/**
 * An event of a vendor's table as the grammar knows events. Its texts stay the
 * vendor's, read from the user's file.
 */
export function vendorPmuEvent(event: VendorEvent): PmuEvent {
  const { terms, brief, place, samplePeriod } = event;
  const hasPeriod = samplePeriod !== null && samplePeriod > 0n && samplePeriod <= MOST_PERIOD;
  return {
    terms,
    source: place,
    details: details(event),
    ...(brief === '' ? {} : { description: brief }),
    ...(hasPeriod ? { samplePeriod } : {}),
  };
}

function details({ brief, description, general, fixed, precise, isDeprecated }: VendorEvent): string[] {
  const counters = [
    ...(general !== null && general.length > 0 ? [`general ${general.join(', ')}`] : []),
    ...(fixed.length > 0 ? [`fixed ${fixed.join(', ')}`] : []),
  ];
  return [
    ...(description === brief ? [] : [description]),
    ...(counters.length > 0 ? [`counters: ${counters.join('; ')}`] : []),
    ...(precise === 'can' ? ['can be sampled precisely (:p)'] : []),
    ...(precise === 'must' ? ['counts correctly only if sampled precisely (:p)'] : []),
    ...(isDeprecated ? ['deprecated'] : []),
  ];
}
