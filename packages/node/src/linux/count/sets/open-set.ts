import { constants } from 'node:os';
import { PERF_FLAG_PID_CGROUP } from '@counterpoint/core/abi';
import {
  addNote,
  COUNTING_FALLBACKS,
  explainOpenError,
  fallBack,
  type Note,
  noteDeadBreakpoints,
  openPlannedEvent,
  raiseDescriptorLimit,
} from '../../kernel/perf-events/index.ts';
import { type Fd, type Sys, SysError } from '../../kernel/sys/index.ts';
import { onlineCpus } from '../../kernel/target/index.ts';
import { type CountingOptions, setCountingAttr } from '../requests/plan-set.ts';
import type { CountedEvent, CountingRow, PlannedSet } from '../requests/types.ts';
import { OpenSet } from './counter-set.ts';
import { type UnsupportedFacts, whyUnsupported } from './reasons.ts';
import { askAlone } from './refused-field.ts';

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
 * Open the events of a set. One that the machine cannot count stays in the set with the reason; what the user
 * may not do, or what no event could do, is an error, and then everything that was opened is closed again.
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
  /** By event: its rows, and the members of the group that it leads. */
  readonly #rowsOf: readonly number[][];
  readonly #membersOf: readonly number[][];
  /** Threads that had ended, and CPUs that went offline. */
  readonly #gone = new Set<string>();
  #gonePlace: CountingRow | null = null;

  constructor(set: PlannedSet, context: OpenSetContext) {
    this.#set = set;
    this.#context = context;
    this.#fds = set.rows.map(() => null);
    this.#unsupported = set.events.map(() => null);
    this.#rowsOf = set.events.map(() => []);
    this.#membersOf = set.events.map(() => []);
    for (const [at, { event }] of set.rows.entries()) this.#rowsOf[event]!.push(at);
    for (const [index, { leader }] of set.events.entries())
      if (leader !== null) this.#membersOf[leader]!.push(index);
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
    if (this.#gone.size > 0) notes.push({ kind: 'task-gone', text: goneText([...this.#gone]) });
    for (const event of events) noteChanges(event, notes);
    noteDeadBreakpoints(sys, events, notes);
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
        return openPlannedEvent(sys, event, cgroup?.number ?? row.task, row.cpu, leader, {
          flags: cgroup === null ? 0 : PERF_FLAG_PID_CGROUP,
          notes,
        });
      } catch (error) {
        if (!(error instanceof SysError)) throw error;
        const { code } = error;
        if (code === 'ESRCH' || (code === 'ENODEV' && row.cpu >= 0 && !onlineCpus().includes(row.cpu))) {
          this.#gone.add(row.task > 0 ? `thread ${row.task}` : `CPU ${row.cpu}`);
          this.#gonePlace = row;
          return null;
        }
        if (code === 'EMFILE' && raiseDescriptorLimit(sys, descriptorsNeeded, notes)) continue;
        if (this.#breakUp(row, code)) return 'broken-up';
        if (fallBack(event, code, { paranoid }, notes, COUNTING_FALLBACKS)) continue;
        if (!UNSUPPORTED.has(code)) throw this.#explain(error, row);
        this.#giveUp(row.event, this.#whyNot(event, row, code));
        return null;
      }
    }
  }

  /**
   * In a group it may be the company that is refused, or the event itself: which, only the event alone tells.
   */
  #whyNot(event: CountedEvent, row: CountingRow, code: string): string {
    const { sys, cgroup, facts } = this.#context;
    if (code !== 'EINVAL') return whyUnsupported(event, row, code, null, facts);
    const flags = cgroup === null ? 0 : PERF_FLAG_PID_CGROUP;
    const alone = askAlone(sys, event, cgroup?.number ?? row.task, row.cpu, flags);
    if (alone.kind === 'refused')
      return (
        alone.field ??
        whyUnsupported(event, row, UNSUPPORTED.has(alone.code) ? alone.code : code, null, facts)
      );
    return whyUnsupported(
      event,
      row,
      code,
      event.leader === null ? null : this.#groupOf(event.leader),
      facts,
    );
  }

  /** The leader first. */
  #groupOf(leader: number): CountedEvent[] {
    return [leader, ...this.#membersOf[leader]!].map((index) => this.#set.events[index]!);
  }

  /**
   * Close what was opened of an event, so that it is nowhere counted by halves, and of the group that it
   * leads: a leader may be refused on a later CPU, when its members are open on the CPUs before.
   */
  #giveUp(event: number, why: string): void {
    const { requestedName } = this.#set.events[event]!;
    this.#unsupported[event] = why;
    for (const at of this.#rowsOf[event]!) {
      this.#fds[at]?.close();
      this.#fds[at] = null;
    }
    for (const member of this.#membersOf[event]!) {
      if (this.#unsupported[member] !== null) continue;
      this.#giveUp(member, `its group is led by ${requestedName}, which is not supported`);
    }
  }

  /** A member that does not fit makes its weak group single events, as perf's `W` does. */
  #breakUp(row: CountingRow, code: string): boolean {
    const { events, rows } = this.#set;
    const { leader } = events[row.event]!;
    if (leader === null || !events[leader]!.weakGroup || (code !== 'EINVAL' && code !== 'EBADF'))
      return false;
    const group = [leader, ...this.#membersOf[leader]!];
    for (const index of group) Object.assign(events[index]!, { leader: null, weakGroup: false });
    for (const index of group) setCountingAttr(events[index]!, false, this.#context.options);
    for (const each of rows) if (group.includes(each.event)) each.leader = null;
    const names = group.map((index) => events[index]!.requestedName).join(', ');
    addNote(this.#context.notes, {
      kind: 'feature-dropped',
      text: `the PMU cannot count ${names} at one time, so they are counted one by one`,
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

const MOST_NAMED = 10;

/** Others were opened; these are not counted. */
function goneText(places: readonly string[]): string {
  const named = places.slice(0, MOST_NAMED).join(', ');
  const more = places.length > MOST_NAMED ? ` and ${places.length - MOST_NAMED} more` : '';
  return `not counted: ${named}${more} (already ended)`;
}
