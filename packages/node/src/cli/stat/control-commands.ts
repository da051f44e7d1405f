import { printable } from '@counterpoint/core/base';
import type { CountedEvent, CountingSession } from '../../counting/index.ts';
import type { ControlCommand } from '../common/control-channel.ts';
import type { Output } from '../common/output.ts';
import { attrFields } from '../common/plan-output.ts';

/**
 * `enable`, `disable` and `evlist` of `--control`, as perf 6.1 does them. What fails is
 * told, and answered like the rest.
 */
export function obey(
  { name, argument }: ControlCommand,
  sessions: readonly CountingSession[],
  err: Output,
): void {
  if (name === 'evlist') listEvents(argument, sessions, err);
  else if (name !== 'ping' && argument !== '') switchEvent(name === 'enable', argument, sessions, err);
  else
    for (const session of sessions) {
      if (name === 'enable') session.start();
      if (name === 'disable') session.stop();
    }
}

/** The counters of one event alone: the others stay as they are. */
function switchEvent(on: boolean, event: string, sessions: readonly CountingSession[], err: Output): void {
  let found = false;
  for (const { openSets } of sessions)
    for (const set of openSets)
      for (const [index, { requestedName, name }] of set.events.entries()) {
        if (requestedName !== event && name !== event) continue;
        found = true;
        set.switchEvent(index, on);
      }
  if (!found) err.line(`counterpoint stat: --control: no event ${printable(event)} is counted`);
  err.flush();
}

function listEvents(option: string, sessions: readonly CountingSession[], err: Output): void {
  const lines = new Set<string>();
  for (const { openSets } of sessions)
    for (const { events } of openSets) {
      if (option === '-g') for (const line of groups(events)) lines.add(line);
      else for (const event of events) lines.add(eventLine(event, option));
    }
  if (!LIST_OPTIONS.has(option))
    err.line(
      `counterpoint stat: --control: evlist knows -v (attrs), -g (groups) and -F (periods), not '${printable(option)}'`,
    );
  else for (const line of lines) err.line(line);
  err.flush();
}

const LIST_OPTIONS: ReadonlySet<string> = new Set(['', '-v', '-g', '-F']);

function eventLine({ requestedName, attr }: CountedEvent, option: string): string {
  const fields = attrFields(attr);
  if (option === '-F')
    return `${requestedName}: sample_period=${fields['sample_period'] ?? fields['sample_freq']}`;
  if (option !== '-v') return requestedName;
  const set = Object.entries(fields).filter(([, value]) => value !== 0 && value !== '0' && value !== '0x0');
  return `${requestedName}: ${set.map(([name, value]) => `${name}: ${value}`).join(', ')}`;
}

/** `{leader,member}`, or the name of an event outside of groups. */
function groups(events: readonly CountedEvent[]): string[] {
  return events.flatMap(({ leader, requestedName }, index) => {
    if (leader !== null) return [];
    const members = events.filter((event) => event.leader === index).map((event) => event.requestedName);
    return [members.length === 0 ? requestedName : `{${[requestedName, ...members].join(',')}}`];
  });
}
