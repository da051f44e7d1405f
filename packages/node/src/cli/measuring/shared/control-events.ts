import type { PlannedEvent } from '../../../linux/kernel/perf-events/index.ts';
import { attrFields } from '../../common/attr-fields.ts';

type ListedEvent = Pick<PlannedEvent, 'requestedName' | 'attr' | 'leader'>;

/** What `evlist` of --control lists, by its option; null for an option that it does not know. */
export function controlEventLines(events: readonly ListedEvent[], option: string): string[] | null {
  if (!LIST_OPTIONS.has(option)) return null;
  return option === '-g' ? groups(events) : events.map((event) => eventLine(event, option));
}

const LIST_OPTIONS: ReadonlySet<string> = new Set(['', '-v', '-g', '-F']);

function eventLine({ requestedName, attr }: ListedEvent, option: string): string {
  const fields = attrFields(attr);
  if (option === '-F')
    return `${requestedName}: sample_period=${fields['sample_period'] ?? fields['sample_freq']}`;
  if (option !== '-v') return requestedName;
  const set = Object.entries(fields).filter(([, value]) => value !== 0 && value !== '0' && value !== '0x0');
  return `${requestedName}: ${set.map(([name, value]) => `${name}: ${value}`).join(', ')}`;
}

/** `{leader,member}`, or the name of an event outside of groups. */
function groups(events: readonly ListedEvent[]): string[] {
  return events.flatMap(({ leader, requestedName }, index) => {
    if (leader !== null) return [];
    const members = events.filter((event) => event.leader === index).map((event) => event.requestedName);
    return [members.length === 0 ? requestedName : `{${[requestedName, ...members].join(',')}}`];
  });
}
