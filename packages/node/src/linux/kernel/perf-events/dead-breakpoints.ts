import { PERF_TYPE_BREAKPOINT } from '@counterpoint/core/abi';
import { breakpointsWork, type Sys } from '../sys/index.ts';
import { addNote, type Note } from './notes.ts';

/** What makes breakpoints do nothing, for sentences that say what follows from it. */
export const DEAD_BREAKPOINTS =
  'breakpoints of the CPU do nothing on this machine: its hypervisor does not pass the debug registers on';

/** Tells of events that will stay at 0, whatever happens. */
export function noteDeadBreakpoints(
  sys: Sys,
  events: readonly { name: string; attr: { type: number } }[],
  notes: Note[],
): void {
  const breakpoints = events.filter(({ attr }) => attr.type === PERF_TYPE_BREAKPOINT);
  if (breakpoints.length === 0 || breakpointsWork(sys) !== false) return;
  const names = breakpoints.map(({ name }) => name).join(', ');
  addNote(notes, { kind: 'breakpoints', text: `${names} will see nothing: ${DEAD_BREAKPOINTS}` });
}
