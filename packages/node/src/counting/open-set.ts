import { constants } from 'node:os';
import {
  COUNTING_FALLBACKS,
  explainOpenError,
  fallBack,
  type Note,
  openPlannedEvent,
  raiseDescriptorLimit,
} from '../session/index.ts';
import { type Fd, type Sys, SysError } from '../sys/index.ts';
import { onlineCpus } from '../target/index.ts';
import { OpenSet } from './counter-set.ts';
import { type CountingOptions, setCountingAttr } from './plan-set.ts';
import { type UnsupportedFacts, whyUnsupported } from './reasons.ts';
import { refusedField } from './refused-field.ts';
import type { CountedEvent, CountingRow, PlannedSet } from './types.ts';

export interface OpenSetContext {
  sys: Sys;
  options: CountingOptions;
  paranoid: number | null;
  facts: UnsupportedFacts;
  notes: Note[];
  /** Of all sets together. */
  descriptorsNeeded: number;
  /** The descriptor of the control group's directory, for such a target. */
  cgroup: Fd | null;
}

/** PERF_FLAG_PID_CGROUP (linux/perf_event.h). */
const PID_CGROUP = 4;

/** Errnos that say "not this event, here" rather than "not you" or "not now". */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  'EINVAL',
  'ENOENT',
  'ENODEV',
  'EOPNOTSUPP',
  'ENXIO',
  'ENOSYS',
]);

/**
 * Open the events of a set. One that the machine cannot count stays in the set with the reason; what the user may not do, or
 * what no event could do, is an error, and then everything that was opened is closed again.
 */
export function openSet(set: PlannedSet, context: OpenSetContext): OpenSet {
  for (;;) {
    const opening = new SetOpening(set, context);
    try {
      const opened = opening.run();
      if (opened !== null) return opened;
      // A weak group was broken up: from the start again, with one group fewer.
      opening.unwind();
    } catch (error) {
      opening.unwind();
      throw error;
    }
  }
}

class SetOpening {
  readonly #set: PlannedSet;
  readonly #context: OpenSetContext;
  readonly #fds: (Fd | null)[];
  /** By event: why it cannot be counted here. */
  readonly #unsupported: (string | null)[];
  #gone = 0;
  #gonePlace: CountingRow | null = null;

  constructor(set: PlannedSet, context: OpenSetContext) {
    this.#set = set;
    this.#context = context;
    this.#fds = set.rows.map(() => null);
    this.#unsupported = set.events.map(() => null);
  }

  unwind(): void {
    for (const fd of this.#fds) fd?.close();
    this.#fds.fill(null);
  }

  /** Null where a group was broken up. */
  run(): OpenSet | null {
    const { rows, events } = this.#set;
    for (const [at, row] of rows.entries()) {
      if (this.#unsupported[row.event] !== null) continue;
      const outcome = this.#openRow(row);
      if (outcome === 'broken-up') return null;
      this.#fds[at] = outcome;
    }
    const { notes, sys } = this.#context;
    const isCounted = events.some(({ tool }, index) => tool === null && this.#unsupported[index] === null);
    if (isCounted && this.#fds.every((fd) => fd === null) && this.#gonePlace !== null)
      throw this.#explain(new SysError('perf_event_open', constants.errno.ESRCH, {}), this.#gonePlace);
    if (this.#gone > 0)
      notes.push({
        kind: 'task-gone',
        text: `${this.#gone} counters could not be opened: their threads had ended`,
      });
    for (const event of events) noteChanges(event, notes);
    return new OpenSet(sys, this.#set, this.#fds, this.#unsupported, this.#context.cgroup !== null);
  }

  #openRow(row: CountingRow): Fd | null | 'broken-up' {
    const { sys, notes, paranoid, cgroup, descriptorsNeeded } = this.#context;
    const event = this.#set.events[row.event]!;
    const leader = row.leader === null ? null : this.#fds[row.leader]!;
    // The leader's task has ended, or its CPU went offline.
    if (row.leader !== null && leader === null) return null;
    for (;;) {
      try {
        return openPlannedEvent(
          sys,
          event,
          cgroup?.number ?? row.task,
          row.cpu,
          leader,
          cgroup === null ? 0 : PID_CGROUP,
        );
      } catch (error) {
        if (!(error instanceof SysError)) throw error;
        const { code } = error;
        if (code === 'ESRCH' || (code === 'ENODEV' && row.cpu >= 0 && !onlineCpus().includes(row.cpu))) {
          this.#gone++;
          this.#gonePlace = row;
          return null;
        }
        if (code === 'EMFILE' && raiseDescriptorLimit(sys, descriptorsNeeded, notes)) continue;
        if (this.#breakUp(row, code)) return 'broken-up';
        if (fallBack(event, code, { paranoid }, notes, COUNTING_FALLBACKS)) continue;
        if (!UNSUPPORTED.has(code)) throw this.#explain(error, row);
        const field = code === 'EINVAL' ? this.#refusedField(event, row) : null;
        this.#giveUp(row.event, field ?? whyUnsupported(event, row, code, this.#set, this.#context.facts));
        return null;
      }
    }
  }

  /** The field that is at fault. In a group it may be the company that is: then there is none. */
  #refusedField(event: CountedEvent, row: CountingRow): string | null {
    const { sys, cgroup } = this.#context;
    const task = cgroup?.number ?? row.task;
    return refusedField(sys, event, task, row.cpu, cgroup === null ? 0 : PID_CGROUP);
  }

  /**
   * Close what was opened of an event, so that it is nowhere counted by halves, and of the group that it leads: a leader may
   * be refused on a later CPU, when its members are open on the CPUs before.
   */
  #giveUp(event: number, why: string): void {
    const { events, rows } = this.#set;
    this.#unsupported[event] = why;
    rows.forEach((row, at) => {
      if (row.event !== event) return;
      this.#fds[at]?.close();
      this.#fds[at] = null;
    });
    events.forEach(({ leader }, member) => {
      if (leader !== event || this.#unsupported[member] !== null) return;
      this.#giveUp(member, `its group is led by ${events[event]!.requestedName}, which is not supported`);
    });
  }

  /** A member that does not fit makes its weak group single events, as perf's `W` does. */
  #breakUp(row: CountingRow, code: string): boolean {
    const { events, rows } = this.#set;
    const { leader } = events[row.event]!;
    if (leader === null || !events[leader]!.weakGroup || (code !== 'EINVAL' && code !== 'EBADF'))
      return false;
    const group = events.flatMap((event, index) =>
      index === leader || event.leader === leader ? [index] : [],
    );
    for (const index of group) Object.assign(events[index]!, { leader: null, weakGroup: false });
    for (const index of group) setCountingAttr(this.#set, index, this.#context.options);
    for (const each of rows) if (group.includes(each.event)) each.leader = null;
    const names = group.map((index) => events[index]!.requestedName).join(', ');
    this.#context.notes.push({
      kind: 'feature-dropped',
      text: `the PMU cannot count ${names} at one time: they are counted one by one`,
    });
    return true;
  }

  #explain(error: SysError, row: CountingRow) {
    const { sys, paranoid, descriptorsNeeded } = this.#context;
    const { requestedName: name, attr } = this.#set.events[row.event]!;
    const descriptorLimit = sys.resourceLimit('descriptors').hard;
    return explainOpenError(error, {
      name,
      attr,
      task: row.task,
      isMember: row.leader !== null,
      paranoid,
      descriptorsNeeded,
      descriptorLimit,
    });
  }
}

function noteChanges({ name, requestedName, changes }: CountedEvent, notes: Note[]): void {
  const [first] = changes;
  if (first === undefined) return;
  const why = changes.map((change) => change.why).join(', and ');
  const text = `counting ${name} for ${requestedName}: ${why}`;
  if (!notes.some((note) => note.text === text)) notes.push({ kind: first.kind, text });
}
