import { basename } from 'node:path';
import { extraRights, extraRightsRemedy, type HeldCommand } from '../target/index.ts';
import type { Note } from './notes.ts';
import type { TakenProcess } from './taken-events.ts';

/** The kernel keeps so much of a name. */
const COMM_CHARS = 15;

/**
 * What happened to a process whose events the kernel took, why, and what to do. `more`: other processes of
 * the same name.
 */
export function takenNote(
  { pid, name }: TakenProcess,
  command: Pick<HeldCommand, 'pid' | 'program'> | null,
  more = 0,
): Note {
  const isCommand = command?.pid === pid && basename(command.program).slice(0, COMM_CHARS) === name;
  const why = isCommand
    ? `${command.program} ${extraRights(command.program)}`
    : 'its program has more rights than its parent (set-user-id, file capabilities), or may not be read';
  const others = more === 0 ? '' : ` and ${more} more`;
  const text = `${name} (process ${pid}${others}) is no longer watched: ${why}, so the kernel took the events from it.`;
  return { kind: 'events-taken', text: `${text} ${extraRightsRemedy()}` };
}

/** The same of many: one for each name, and the command has its own. */
export function takenNotes(
  taken: readonly TakenProcess[],
  command: Pick<HeldCommand, 'pid' | 'program'> | null,
): Note[] {
  const byName = new Map<string, TakenProcess[]>();
  for (const one of taken) {
    const key = one.pid === command?.pid ? '' : one.name;
    const same = byName.get(key);
    if (same === undefined) byName.set(key, [one]);
    else same.push(one);
  }
  return [...byName.values()].map(([first, ...rest]) => takenNote(first!, command, rest.length));
}
