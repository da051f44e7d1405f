import type { PlannedEvent } from './planned-event.ts';

/** Who and where. */
export interface OpenTarget {
  /** Threads, or [-1] for everybody. */
  tasks: readonly number[];
  /** [-1]: each thread wherever it runs; nobody may inherit its events then. */
  cpus: readonly number[];
}

/** How many rings there will be: one for each CPU, or for each thread that is followed over all CPUs. */
export function ringCount({ tasks, cpus }: OpenTarget): number {
  return cpus[0] === -1 ? tasks.length : cpus.length;
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
 *
 * Events of a thread wherever it runs (CPU -1) have a ring for each thread: two threads may not share one.
 */
export interface OpenPlan {
  /** The events, in the order in which they are opened. */
  events: PlannedEvent[];
  /** Every perf_event_open that will be made. */
  rows: OpenRow[];
  /** The CPU of each ring; -1 for that of a thread. */
  ringCpus: number[];
  /** Data pages of each ring: a power of two. */
  ringPages: number;
  /** With fewer pages than this, a note tells the user. */
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
  /** By CPU, or by thread. */
  const ringOf = new Map<number, number>();
  const rowOf = new Map<string, number>();
  events.forEach((event, index) => {
    const isAnywhere = target.cpus[0] === -1;
    const cpus = event.cpus === null ? target.cpus : target.cpus.filter((cpu) => event.cpus!.includes(cpu));
    for (const cpu of cpus) {
      for (const task of target.tasks) {
        const place = isAnywhere ? task : cpu;
        let ring = ringOf.get(place);
        if (ring === undefined) ringOf.set(place, (ring = ringCpus.push(cpu) - 1));
        const leader = event.leader === null ? null : (rowOf.get(`${event.leader} ${task} ${cpu}`) ?? null);
        rowOf.set(`${index} ${task} ${cpu}`, rows.length);
        rows.push({ event: index, task, cpu, leader, ring });
      }
    }
  });
  return { events, rows, ringCpus, ringPages, enoughRingPages };
}
