import type { Profile } from '../../../profile/tables/index.ts';
import type { ExportPlan } from '../options.ts';

/** The name of a thread, or of the process that it is one of. */
export interface NamedThread {
  /** Row of `Profile.threads`. */
  thread: number;
  isProcess: boolean;
  name: string;
}

/**
 * Each process and each thread that has samples of the event; a process has the name of its
 * main thread, if that has any.
 */
export function threadNames(profile: Profile, { eventIndex }: ExportPlan): NamedThread[] {
  const { samples, threads, strings } = profile;
  const shown = new Set<number>();
  for (let sample = 0; sample < samples.length; sample++)
    if (samples.event.at(sample) === eventIndex) shown.add(samples.thread.at(sample));
  const rows = [...shown].sort((one, other) => one - other);
  const processes = new Map<number, number>();
  for (const thread of rows) {
    const pid = threads.pid.at(thread);
    if (!processes.has(pid) || threads.tid.at(thread) === pid) processes.set(pid, thread);
  }
  const named = (thread: number, isProcess: boolean) => ({
    thread,
    isProcess,
    name: strings.get(threads.comm.at(thread)),
  });
  return [
    ...[...processes.values()].map((thread) => named(thread, true)),
    ...rows.map((thread) => named(thread, false)),
  ];
}
