import type { PlannedEvent } from './planned-event.ts';

/** Who and where. */
export interface OpenTarget {
  /** Threads, or [-1] for everybody. */
  tasks: readonly number[];
  cpus: readonly number[];
}

/** One perf_event_open that will be made. */
export interface OpenRow {
  /** Index of the event. */
  event: number;
  /** The thread; -1 is every thread of the CPU. */
  task: number;
  /** The CPU; -1 is wherever the thread runs. */
  cpu: number;
  /** Index of the row of the group's leader for the same task and CPU. */
  leader: number | null;
  /** Index of the ring that it writes to. */
  ring: number;
}

/**
 * All that will be opened, as plain data. A ring per CPU: events that follow children may only
 * have a ring where they are bound to a CPU (the kernel refuses others with EINVAL), and so no
 * two CPUs ever write to one ring.
 *
 *             CPU 0         CPU 1
 *   event A   owner ring 0  owner ring 1
 *   event B     └> ring 0     └> ring 1
 */
export interface OpenPlan {
  /** The events, in the order in which they are opened. */
  events: PlannedEvent[];
  /** Every perf_event_open that will be made. */
  rows: OpenRow[];
  /** The CPU of each ring. */
  ringCpus: number[];
  /** Data pages of each ring: a power of two. */
  ringPages: number;
  /** With fewer pages than these the user is told. */
  enoughRingPages: number;
}

export function planOpen(
  events: PlannedEvent[],
  target: OpenTarget,
  ringPages: number,
  enoughRingPages = ringPages,
): OpenPlan {
  const rows: OpenRow[] = [];
  const ringCpus: number[] = [];
  const rowOf = new Map<string, number>();
  events.forEach((event, index) => {
    const cpus = event.cpus === null ? target.cpus : target.cpus.filter((cpu) => event.cpus!.includes(cpu));
    for (const cpu of cpus) {
      let ring = ringCpus.indexOf(cpu);
      if (ring < 0) ring = ringCpus.push(cpu) - 1;
      for (const task of target.tasks) {
        const leader = event.leader === null ? null : (rowOf.get(`${event.leader} ${task} ${cpu}`) ?? null);
        rowOf.set(`${index} ${task} ${cpu}`, rows.length);
        rows.push({ event: index, task, cpu, leader, ring });
      }
    }
  });
  return { events, rows, ringCpus, ringPages, enoughRingPages };
}
