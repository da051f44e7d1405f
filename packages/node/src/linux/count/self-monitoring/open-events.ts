import {
  PERF_COUNT_SW_CGROUP_SWITCHES,
  PERF_COUNT_SW_CONTEXT_SWITCHES,
  PERF_COUNT_SW_CPU_MIGRATIONS,
  PERF_FORMAT_GROUP,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { type EventLookup, type ParsedEvent, parseEvents } from '@counterpoint/core/events';
import {
  beyondAttr,
  COUNTING_FALLBACKS,
  explainOpenError,
  fallBack,
  type Note,
  openPlannedEvent,
  type PlannedEvent,
  raiseDescriptorLimit,
} from '../../kernel/perf-events/index.ts';
import { paranoidLevel } from '../../kernel/probe/index.ts';
import { type Fd, type Sys, SysError } from '../../kernel/sys/index.ts';
import type { SelfMonitoringNote } from './notes.ts';
import type { UserAccess } from './user-access.ts';

/** One event, open for the calling thread. */
export interface OpenEvent {
  parsed: ParsedEvent;
  /** As it was opened: `cycles:u` where the kernel's part is left out. */
  name: string;
  fd: Fd;
}

/** Events that count in the same moments, and are read by one read() of the first. */
export interface OpenGroup {
  /** Indices into the events. */
  members: number[];
}

export interface OpenEvents {
  events: OpenEvent[];
  groups: OpenGroup[];
}

export interface OpeningContext {
  sys: Sys;
  access: UserAccess;
  notes: SelfMonitoringNote[];
}

/** The calling thread, wherever it runs. */
const THIS_THREAD = 0;
const ANY_CPU = -1;

const READ_FORMAT = BigInt(
  PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
);

/** Software events that come from the kernel's own code, so that nothing is left of them in user space. */
const ONLY_IN_KERNEL: ReadonlySet<number> = new Set([
  PERF_COUNT_SW_CONTEXT_SWITCHES,
  PERF_COUNT_SW_CPU_MIGRATIONS,
  PERF_COUNT_SW_CGROUP_SWITCHES,
]);

/** Each text is a list in perf's grammar. */
export function parseOwnEvents(texts: readonly string[], lookup: EventLookup): ParsedEvent[] {
  const events: ParsedEvent[] = [];
  let firstGroup = 0;
  for (const text of texts) {
    const parsed = parseEvents(text, lookup, { firstGroup });
    for (const { group } of parsed) if (group !== null) firstGroup = Math.max(firstGroup, group + 1);
    events.push(...parsed);
  }
  for (const { name, tool } of events) {
    if (tool === undefined) continue;
    throw new CounterpointError(
      'ERR_EVENT_OPTION',
      `${name} is not an event of a thread: stat measures it`,
      'Every reading has the time (timeNs); task-clock counts the CPU time of the thread.',
    );
  }
  if (events.length === 0)
    throw new CounterpointError('ERR_NO_EVENTS', 'no events were given', "Name some: 'instructions,cycles'.");
  return events;
}

/**
 * Open the events disabled, or none of them. Those outside braces go into one group while they fit, then into
 * another; braces are kept. Groups that could not run even alone are taken apart.
 */
export function openOwnEvents(parsed: readonly ParsedEvent[], context: OpeningContext): OpenEvents {
  const opening = new Opening(context, parsed.length);
  try {
    for (const event of parsed) opening.add(event);
    opening.splitStuckGroups();
    return { events: opening.events, groups: opening.groups };
  } catch (error) {
    for (const { fd } of opening.events) fd.close();
    throw error;
  }
}

/** The part of a plan that one open may change when it is refused. */
function plan(event: ParsedEvent): PlannedEvent {
  const attr = { ...event.attr, flags: { ...event.attr.flags } };
  attr.samplePeriodOrFreq = 0n;
  attr.flags.freq = 0;
  attr.sampleType = 0n;
  attr.readFormat = READ_FORMAT;
  attr.flags.inherit = 0;
  return {
    requestedName: event.name,
    name: event.name,
    attr,
    leader: null,
    cpus: null,
    mostPrecise: event.options.mostPrecise ?? false,
    tracepoint: event.tracepoint ?? null,
    ...beyondAttr(event),
    changes: [],
    isSideband: false,
  };
}

class Opening {
  readonly events: OpenEvent[] = [];
  readonly groups: OpenGroup[] = [];
  readonly #context: OpeningContext;
  readonly #count: number;
  readonly #paranoid = paranoidLevel();
  /** The group that takes the next event, by the number of its braces; `null` outside. */
  readonly #open = new Map<number | null, OpenGroup>();

  constructor(context: OpeningContext, count: number) {
    this.#context = context;
    this.#count = count;
  }

  add(event: ParsedEvent): void {
    const group = this.#open.get(event.group);
    const leader = group === undefined ? null : this.events[group.members[0]!]!;
    const planned = plan(event);
    const hasAccess = this.#context.access.request(planned.attr);
    let fd = this.#tryOpen(planned, leader, hasAccess);
    if (fd === null && leader !== null) {
      // The group is full, or mixes what cannot be counted together.
      fd = this.#tryOpen(planned, null, hasAccess);
      if (fd !== null && event.group !== null && event.options.weakGroup !== true) {
        fd.close();
        throw this.#groupError(event, leader);
      }
      if (fd !== null) this.#noteSplit(event, leader);
      this.#push(event, planned, fd ?? this.#refused(planned), null);
      return;
    }
    this.#push(event, planned, fd ?? this.#refused(planned), group ?? null);
  }

  #push(parsed: ParsedEvent, { name, changes }: PlannedEvent, fd: Fd, group: OpenGroup | null): void {
    const index = this.events.push({ parsed, name, fd }) - 1;
    if (group === null) {
      const fresh = { members: [index] };
      this.groups.push(fresh);
      this.#open.set(parsed.group, fresh);
    } else group.members.push(index);
    if (changes.length === 0) return;
    const why = changes.map((change) => change.why).join(', and ');
    const isOfKernel =
      parsed.attr.type === PERF_TYPE_SOFTWARE && ONLY_IN_KERNEL.has(Number(parsed.attr.config));
    const effect = isOfKernel ? '; this happens only in the kernel, so the count stays 0' : '';
    this.#note('kernel-excluded', `counting ${name} instead of ${parsed.name}: ${why}${effect}`);
  }

  #lastError: SysError | null = null;

  /** Null where the kernel refuses this combination, so that another may be tried. */
  #tryOpen(planned: PlannedEvent, leader: OpenEvent | null, hasAccess: boolean): Fd | null {
    const { sys, access } = this.#context;
    planned.attr.flags.disabled = leader === null ? 1 : 0;
    for (;;) {
      try {
        return openPlannedEvent(sys, planned, THIS_THREAD, ANY_CPU, leader?.fd ?? null);
      } catch (error) {
        if (!(error instanceof SysError)) throw error;
        this.#lastError = error;
        const notes: Note[] = [];
        if (error.code === 'EMFILE' && raiseDescriptorLimit(sys, this.#count, notes)) {
          for (const { text } of notes) this.#note('limit-raised', text);
          continue;
        }
        if (fallBack(planned, error.code, { paranoid: this.#paranoid }, notes, COUNTING_FALLBACKS)) continue;
        if (hasAccess && leader === null && (error.code === 'EINVAL' || error.code === 'EOPNOTSUPP')) {
          access.withdraw(planned.attr);
          hasAccess = false;
          this.#note('no-user-access', `${planned.name} has no counter that a program may read itself`);
          continue;
        }
        if (leader !== null && error.code === 'EINVAL') return null;
        throw this.#refused(planned);
      }
    }
  }

  #refused({ requestedName, attr }: PlannedEvent): never {
    throw explainOpenError(this.#lastError!, {
      name: requestedName,
      attr,
      task: THIS_THREAD,
      paranoid: this.#paranoid,
      descriptorsNeeded: this.#count,
      descriptorLimit: this.#context.sys.resourceLimit('descriptors').hard,
    });
  }

  #groupError(event: ParsedEvent, leader: OpenEvent): CounterpointError {
    return new CounterpointError(
      'ERR_EVENT_GROUP',
      `${event.name} does not fit into the group of ${leader.parsed.name}: there are too few counters, or the events are of different kinds`,
      'Take an event out of the braces, or leave out the braces: events are then grouped as far as they fit.',
    );
  }

  #noteSplit(event: ParsedEvent, leader: OpenEvent): void {
    this.#note(
      'group-split',
      `${event.name} does not fit into the group of ${leader.parsed.name}: it is counted in its own group`,
    );
  }

  /**
   * A group that the kernel took may still never run, as its check leaves out counters that others hold for
   * good (the NMI watchdog, pinned events). Alone and enabled it then has no running time.
   */
  splitStuckGroups(): void {
    for (const group of [...this.groups]) {
      const hasHardware = group.members.some(
        (index) => this.events[index]!.parsed.attr.type !== PERF_TYPE_SOFTWARE,
      );
      if (group.members.length < 2 || !hasHardware || this.#runs(group)) continue;
      const members = group.members.splice(1);
      // The last first, so that the leader is the last of its group to be closed.
      for (const index of [...members].reverse()) this.events[index]!.fd.close();
      const leader = this.events[group.members[0]!]!;
      this.#note(
        'group-split',
        `the group of ${leader.parsed.name} cannot run as a whole (others hold counters, or two events need the same one): its events are counted one by one`,
      );
      for (const index of members) {
        const { parsed } = this.events[index]!;
        const planned = plan(parsed);
        const fd = this.#tryOpen(planned, null, this.#context.access.request(planned.attr));
        this.events[index]!.fd = fd ?? this.#refused(planned);
        this.groups.push({ members: [index] });
      }
    }
  }

  #runs({ members }: OpenGroup): boolean {
    const { sys } = this.#context;
    const { fd } = this.events[members[0]!]!;
    const words = new BigUint64Array(3 + members.length);
    sys.enable(fd);
    sys.read(fd, new Uint8Array(words.buffer));
    sys.disable(fd);
    const [, enabledNs, runningNs] = words;
    return enabledNs === 0n || runningNs !== 0n;
  }

  #note(kind: SelfMonitoringNote['kind'], text: string): void {
    this.#context.notes.push({ kind, text });
  }
}
