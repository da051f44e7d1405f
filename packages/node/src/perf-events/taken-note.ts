import { basename } from 'node:path';
import { extraRights, extraRightsRemedy, type HeldCommand } from '../target/index.ts';
import type { Note } from './notes.ts';
import type { TakenProcess } from './taken-events.ts';

/** The kernel keeps so much of a name. */
const COMM_CHARS = 15;

/** What happened to a process whose events the kernel took, why, and what to do. */
export function takenNote(
  { pid, name }: TakenProcess,
  command: Pick<HeldCommand, 'pid' | 'program'> | null,
): Note {
  const isCommand = command?.pid === pid && basename(command.program).slice(0, COMM_CHARS) === name;
  const why = isCommand
    ? `${command.program} ${extraRights(command.program)}`
    : 'its program has more rights than its parent (set-user-id, file capabilities), or may not be read';
  const text = `${name} (process ${pid}) is watched no more: ${why}, so the kernel took the events from it.`;
  return { kind: 'events-taken', text: `${text} ${extraRightsRemedy()}` };
}
