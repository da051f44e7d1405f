/** What holds for events beyond their attr and their tasks: control groups, and who is left out. */
import { CounterpointError } from '@counterpoint/core/base';
import type { PlannedEvent, SampledEvents } from '../../kernel/perf-events/index.ts';
import { type Sys, SysError } from '../../kernel/sys/index.ts';
import { listThreads } from '../../kernel/target/index.ts';
import type { RecordOptions } from './options.ts';

/** Who is left out of tracepoints: threads of this process by now. */
function withoutRecorder(filter: string | null | undefined): string {
  const others = listThreads(process.pid).map((tid) => `common_pid != ${tid}`);
  return [...(filter === null || filter === undefined ? [] : [`(${filter})`]), ...others].join(' && ');
}

/** Those events that samples are of go into their control groups; the event that tells of tasks does not. */
export function placeInCgroups(
  planned: readonly PlannedEvent[],
  { cgroups = [], formats = [], pids, tids, uid }: RecordOptions,
): void {
  if (cgroups.length === 0) return;
  if (formats.length > 0)
    throw new CounterpointError(
      'ERR_FORMAT_EVENT',
      'sampling formats are of CPUs or tasks, and not of control groups',
      'Leave out the formats or the control groups.',
    );
  if (pids !== undefined || tids !== undefined || uid !== undefined)
    throw new CounterpointError(
      'ERR_TARGET',
      'control groups and single processes exclude each other',
      'Watch either the control groups or the processes.',
    );
  const sampled = planned.filter(({ isSideband }) => !isSideband);
  if (cgroups.length > sampled.length)
    throw new CounterpointError(
      'ERR_TARGET',
      `there are ${cgroups.length} control groups for ${sampled.length === 1 ? 'one event' : `${sampled.length} events`}`,
      'Give one control group for all events, or one for each event.',
    );
  sampled.forEach((event, at) => {
    event.cgroup = (cgroups.length === 1 ? cgroups[0] : cgroups[at]) ?? null;
  });
}

/**
 * The threads of this process are named in the filters of tracepoints. Those that begin
 * later have to be named again, before anything is enabled.
 */
export function leaveRecorderOut(sys: Sys, { events }: SampledEvents): void {
  for (const { tracepoint, filter, instances } of events) {
    if (tracepoint === null) continue;
    const text = withoutRecorder(filter);
    for (const { fd } of instances) setFilter(sys, fd, text);
  }
}

function setFilter(sys: Sys, fd: Parameters<Sys['setFilter']>[0], filter: string): void {
  try {
    sys.setFilter(fd, filter);
  } catch (error) {
    if (!(error instanceof SysError)) throw error;
    throw new CounterpointError(
      'ERR_FILTER',
      `the kernel does not accept a filter that leaves the recorder out: ${error.message}`,
      'Record without --exclude-perf.',
    );
  }
}

/** Throws where no event could leave the recorder out. */
export function requireTracepoints(planned: readonly PlannedEvent[]): void {
  if (planned.some(({ tracepoint }) => tracepoint !== null)) return;
  throw new CounterpointError(
    'ERR_FILTER',
    'only tracepoints can leave out what the recorder does, and none is recorded',
    'Give a tracepoint: -e sched:sched_switch --exclude-perf.',
  );
}
