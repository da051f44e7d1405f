import { CounterpointError } from '@counterpoint/core/base';
import type { Counters } from './counters.ts';
import { counters } from './open-counters.ts';

/** Counters of the first list of events that this machine has; `tell` gets why earlier ones are left out. */
export function openFirst(lists: readonly (readonly string[])[], tell: (text: string) => void): Counters {
  for (const events of lists) {
    try {
      return counters(events);
    } catch (error) {
      const isLast = events === lists[lists.length - 1];
      if (isLast || !(error instanceof CounterpointError) || error.code !== 'ERR_EVENT_UNSUPPORTED')
        throw error;
      tell(`${events.join(' and ')} are not counted: ${error.message}`);
    }
  }
  throw new Error('unreachable');
}
