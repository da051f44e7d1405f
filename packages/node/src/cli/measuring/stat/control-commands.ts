import { printable } from '@counterpoint/core/base';
import type { CountingSession } from '../../../linux/count/counting/index.ts';
import type { Output } from '../../common/output.ts';
import type { ControlCommand } from '../shared/control-channel.ts';
import { controlEventLines } from '../shared/control-events.ts';

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
  let isKnown = true;
  for (const { openSets } of sessions)
    for (const { events } of openSets) {
      const listed = controlEventLines(events, option);
      isKnown &&= listed !== null;
      for (const line of listed ?? []) lines.add(line);
    }
  if (!isKnown)
    err.line(
      `counterpoint stat: --control: evlist knows -v (attrs), -g (groups) and -F (periods), not '${printable(option)}'`,
    );
  else for (const line of lines) err.line(line);
  err.flush();
}
