import { PERF_FLAG_PID_CGROUP } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { paranoidLevel } from '../probe/index.ts';
import { type Fd, type Sys, SysError } from '../sys/index.ts';
import { openCgroup } from '../target/index.ts';
import { openAuxAreas } from './aux-areas.ts';
import type { AuxRequest } from './aux-request.ts';
import { raiseDescriptorLimit } from './descriptor-limit.ts';
import { type FallbackFacts, fallBack, hasBranches } from './fallback.ts';
import { isMuted, PausedRings } from './muted-events.ts';
import { whyNotSampled } from './not-sampled.ts';
import { addNote, type Note } from './notes.ts';
import { explainMmapError, explainOpenError, type RefusedOpen } from './open-error.ts';
import { descriptorsOf, openPlannedEvent } from './open-event.ts';
import type { OpenPlan, OpenRow } from './open-plan.ts';
import { standingOf } from './permission-error.ts';
import type { PlannedEvent } from './planned-event.ts';
import { readsInherited } from './reads-inherited.ts';
import { type EventRing, openRing, type SampledEvent, SampledEvents, writesTo } from './sampled-events.ts';

export interface OpenOptions {
  /** kernel.perf_event_paranoid; read when absent. */
  paranoid?: number | null;
  /** Notes of the planning before; more are added. */
  notes?: Note[];
}

/**
 * Open everything of `plan`, or nothing: what was opened before a failure is closed again. Where the kernel
 * refuses, the events give up what they can in a fixed order (`fallback.ts`), and every step is a note.
 */
export function openSampledEvents(sys: Sys, plan: OpenPlan, options: OpenOptions = {}): SampledEvents {
  const opening = new Opening(sys, plan, options);
  try {
    return opening.run();
  } catch (error) {
    opening.unwind();
    throw error;
  }
}

/** Errnos with which a PMU refuses what it cannot do. */
const NOT_SUPPORTED: ReadonlySet<string> = new Set(['EINVAL', 'ENOENT', 'EOPNOTSUPP']);

class Opening {
  readonly #sys: Sys;
  readonly #plan: OpenPlan;
  readonly #notes: Note[];
  readonly #paranoid: number | null;
  readonly #facts: FallbackFacts;
  /** By row; null where the task was gone. */
  readonly #fds: (Fd | null)[];
  #rings: EventRing[] = [];
  readonly #pausedRings: PausedRings;
  /** Directories of control groups, while their events are opened. */
  readonly #cgroups = new Map<string, Fd>();
  #goneTasks = 0;

  constructor(sys: Sys, plan: OpenPlan, options: OpenOptions) {
    this.#sys = sys;
    this.#plan = plan;
    this.#pausedRings = new PausedRings(sys);
    this.#notes = options.notes ?? [];
    this.#paranoid = options.paranoid === undefined ? paranoidLevel() : options.paranoid;
    this.#facts = { paranoid: this.#paranoid, readsInherited: () => readsInherited(sys) };
    this.#fds = plan.rows.map(() => null);
  }

  unwind(): void {
    this.#pausedRings[Symbol.dispose]();
    for (const { mapping, aux } of this.#rings) {
      aux?.[Symbol.dispose]();
      mapping.close();
    }
    for (const fd of this.#fds) fd?.close();
  }

  run(): SampledEvents {
    try {
      this.#plan.events.forEach((event, index) => {
        this.#openEvent(event, index);
      });
    } finally {
      for (const fd of this.#cgroups.values()) fd.close();
    }
    if (this.#fds.every((fd) => fd === null)) throw this.#nothingOpened();
    this.#plan.events.forEach((event) => {
      this.#noteChanges(event);
    });
    if (this.#goneTasks > 0) {
      const text = `${this.#goneTasks} of the threads ended before they could be watched`;
      this.#notes.push({ kind: 'task-gone', text });
    }
    this.#openRings();
    const events = this.#plan.events.map(
      (event): SampledEvent => ({ ...event, isMuted: isMuted(event), instances: [] }),
    );
    this.#plan.rows.forEach((row, index) => {
      const fd = this.#fds[index]!;
      if (fd === null) return;
      const { task, cpu, ring } = row;
      events[row.event]!.instances.push({ fd, id: this.#sys.eventId(fd), task, cpu, ring });
    });
    return new SampledEvents(this.#sys, events, this.#rings, this.#notes, this.#pausedRings);
  }

  #noteChanges({ name, requestedName, changes }: PlannedEvent): void {
    const [first] = changes;
    if (first === undefined) return;
    const why = changes.map((change) => change.why).join(', and ');
    // Sampling formats have copies of the same event.
    addNote(this.#notes, {
      kind: first.kind,
      text: `recording ${name} instead of ${requestedName}: ${why}`,
    });
  }

  #openEvent(event: PlannedEvent, index: number): void {
    this.#plan.rows.forEach((row, at) => {
      if (row.event !== index) return;
      this.#fds[at] = this.#openRow(event, row);
    });
  }

  /** The first row of an event finds out what the kernel takes; the others follow. */
  #openRow(event: PlannedEvent, row: OpenRow): Fd | null {
    const leaderFd = row.leader === null ? null : this.#fds[row.leader]!;
    if (row.leader !== null && leaderFd === null) return null;
    for (;;) {
      try {
        const group = this.#cgroupOf(event);
        return openPlannedEvent(this.#sys, event, group?.number ?? row.task, row.cpu, leaderFd, {
          notes: this.#notes,
          flags: group === null ? 0 : PERF_FLAG_PID_CGROUP,
        });
      } catch (error) {
        if (!(error instanceof SysError)) throw error;
        if (error.code === 'ESRCH') {
          this.#goneTasks++;
          return null;
        }
        if (
          error.code === 'EMFILE' &&
          raiseDescriptorLimit(this.#sys, this.#descriptorsNeeded(), this.#notes)
        )
          continue;
        if (fallBack(event, error.code, this.#facts, this.#notes)) continue;
        // Of branches the kernel says EOPNOTSUPP.
        const isPlain = !(hasBranches(event.attr) && error.code === 'EOPNOTSUPP');
        const why = isPlain && NOT_SUPPORTED.has(error.code) ? whyNotSampled(this.#sys, event, row) : null;
        throw why ?? explainOpenError(error, this.#refused(event, row));
      }
    }
  }

  #cgroupOf({ cgroup = null }: PlannedEvent): Fd | null {
    if (cgroup === null) return null;
    const open = this.#cgroups.get(cgroup) ?? openCgroup(cgroup);
    this.#cgroups.set(cgroup, open);
    return open;
  }

  #refused({ requestedName, attr }: PlannedEvent, { task }: OpenRow): RefusedOpen {
    return {
      name: requestedName,
      attr,
      task,
      paranoid: this.#paranoid,
      descriptorsNeeded: this.#descriptorsNeeded(),
      descriptorLimit: this.#sys.resourceLimit('descriptors').hard,
      standing: standingOf(this.#sys.effectiveCapabilities()),
    };
  }

  #descriptorsNeeded(): number {
    return descriptorsOf(this.#plan.events, this.#plan.rows);
  }

  #hasRing({ event }: OpenRow): boolean {
    const planned = this.#plan.events[event]!;
    return planned.hasNoRing !== true && !isMuted(planned);
  }

  /** Map a ring per CPU; where locked memory does not suffice, all rings are halved until it does. */
  #openRings(): void {
    const owners = this.#plan.ringCpus.map((_, ring) =>
      this.#plan.rows.findIndex(
        (row, at) => row.ring === ring && this.#fds[at] !== null && this.#hasRing(row),
      ),
    );
    for (let pages = this.#plan.ringPages; ; pages /= 2) {
      try {
        owners.forEach((row, ring) => {
          if (row < 0) return;
          const cpu = this.#plan.ringCpus[ring]!;
          const tid = cpu < 0 ? this.#plan.rows[row]!.task : -1;
          this.#rings.push(openRing(this.#sys, this.#fds[row]!, { cpu, tid }, pages));
        });
        if (pages < this.#plan.enoughRingPages) this.#noteSmallerRings(pages);
        break;
      } catch (error) {
        for (const { mapping } of this.#rings) mapping.close();
        this.#rings = [];
        if (!(error instanceof SysError) || (error.code !== 'EPERM' && error.code !== 'ENOMEM') || pages <= 1)
          throw error instanceof SysError
            ? explainMmapError(error, 'samples', 'record fewer CPUs with -C')
            : error;
      }
    }
    this.#plan.rows.forEach((row, at) => {
      const owner = owners[row.ring]!;
      const fd = this.#fds[at]!;
      if (fd !== null && owner !== at && this.#hasRing(row)) this.#sys.setOutput(fd, this.#fds[owner]!);
      const event = this.#plan.events[row.event]!;
      if (fd !== null && isMuted(event)) this.#pausedRings.take(fd, row.cpu, event.attr);
    });
    const traced = this.#plan.events.findIndex(({ aux }) => aux !== undefined);
    if (traced >= 0) this.#openAux(traced, this.#plan.events[traced]!.aux!);
  }

  /** Beside each ring that the traced event writes to. */
  #openAux(event: number, request: AuxRequest): void {
    const owners = this.#rings.flatMap((ring) => {
      const at = this.#plan.rows.findIndex(
        (row, index) => row.event === event && writesTo(row, ring) && this.#fds[index] !== null,
      );
      const { cpu, tid } = ring;
      return at < 0 ? [] : [{ ring, fd: this.#fds[at]!, cpu, tid, ringMapping: ring.mapping }];
    });
    const areas = openAuxAreas(this.#sys, owners, request);
    owners.forEach(({ ring }, index) => {
      ring.aux = areas[index]!;
    });
    const sizeBytes = areas[0]?.sizeBytes ?? request.enoughBytes;
    if (sizeBytes < request.enoughBytes)
      addNote(this.#notes, {
        kind: 'aux-smaller',
        text: `the memory that this user may lock allows ${sizeBytes / 1024} KiB for the trace of each CPU instead of ${request.enoughBytes / 1024} KiB (kernel.perf_event_mlock_kb, ulimit -l), so more may be lost`,
      });
  }

  #noteSmallerRings(pages: number): void {
    const kib = (count: number) => (count * this.#sys.pageSizeBytes()) / 1024;
    addNote(this.#notes, {
      kind: 'ring-smaller',
      text: `the memory that this user may lock allows buffers of ${kib(pages)} KiB instead of ${kib(this.#plan.enoughRingPages)} KiB (kernel.perf_event_mlock_kb, ulimit -l), so more may be lost`,
    });
  }

  #nothingOpened(): CounterpointError {
    const tasks = [...new Set(this.#plan.rows.map((row) => row.task))].join(', ');
    if (this.#plan.rows.length === 0)
      return new CounterpointError(
        'ERR_NOTHING_TO_OPEN',
        'none of the events can be opened on the chosen CPUs',
        'Choose other CPUs, or none: counterpoint list -v pmu says which CPUs an event has.',
      );
    return new CounterpointError(
      'ERR_NO_PROCESS',
      `no such process or thread: ${tasks} (it has ended)`,
      'List processes with ps -e, threads with ps -eL.',
    );
  }
}
