import {
  PERF_COUNT_HW_CPU_CYCLES,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_FORMAT_LOST,
  PERF_SAMPLE_BRANCH_COUNTERS,
  PERF_SAMPLE_BRANCH_HW_INDEX,
  PERF_SAMPLE_BRANCH_NO_CYCLES,
  PERF_SAMPLE_BRANCH_NO_FLAGS,
  PERF_SAMPLE_BRANCH_PRIV_SAVE,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_READ,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import type { AttrFlags, PerfEventAttr } from '@counterpoint/core/records';
import type { Note } from './notes.ts';
import type { PlannedEvent } from './planned-event.ts';

/** What the decision depends on besides the event. */
export interface FallbackFacts {
  paranoid: number | null;
  /** Asked only where it matters. */
  readsInherited?: () => boolean;
}

export interface Fallback {
  applies(code: string, event: PlannedEvent, facts: FallbackFacts): boolean;
  /**
   * Change the event. A note where that is not told by the event's own `changes` and
   * somebody can see the difference.
   */
  apply(event: PlannedEvent): Note | null;
}

/** Errnos of a PMU that has no such event. */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENODEV', 'ENXIO', 'EOPNOTSUPP']);
const FORBIDDEN: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);

const lowerPrecision: Fallback = {
  applies: (code, { attr, mostPrecise }) =>
    mostPrecise && attr.flags.preciseIp > 0 && (code === 'EINVAL' || ABSENT.has(code)),
  apply({ attr }) {
    attr.flags.preciseIp--;
    return null;
  },
};

const cyclesToClock: Fallback = {
  applies: (code, { attr }) =>
    ABSENT.has(code) &&
    // No software event has branches, and so nothing can take its place.
    !hasBranches(attr) &&
    attr.type === PERF_TYPE_HARDWARE &&
    attr.config === BigInt(PERF_COUNT_HW_CPU_CYCLES),
  apply(event) {
    event.attr.type = PERF_TYPE_SOFTWARE;
    event.attr.config = BigInt(PERF_COUNT_SW_CPU_CLOCK);
    event.attr.flags.preciseIp = 0;
    event.mostPrecise = false;
    const modifiers = event.name.includes(':') ? event.name.slice(event.name.indexOf(':') + 1) : '';
    const kept = modifiers.replace(/[pP]/g, '');
    event.name = kept === '' ? 'cpu-clock' : `cpu-clock:${kept}`;
    const why = 'this machine offers no hardware cycles (most virtual machines do not)';
    event.changes.push({ kind: 'event-replaced', why });
    return null;
  },
};

/** Whether samples have branch stacks. */
export function hasBranches({ sampleType }: PerfEventAttr): boolean {
  return (sampleType & BigInt(PERF_SAMPLE_BRANCH_STACK)) !== 0n;
}

/** What older kernels do not know of branches, newest first: [bits, since, what is lost]. */
const BRANCH_BITS: readonly (readonly [number, string, string])[] = [
  [PERF_SAMPLE_BRANCH_COUNTERS, '6.8', 'counters of branch records, or this CPU has none'],
  [PERF_SAMPLE_BRANCH_PRIV_SAVE, '6.1', 'privileges of branches'],
  [PERF_SAMPLE_BRANCH_HW_INDEX, '5.7', 'places of branches in the table of the CPU'],
  [
    PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES,
    '4.2',
    'branch records without flags and cycles: they are recorded with them',
  ],
];

const dropBranchBits = BRANCH_BITS.map(
  ([bits, since, what]): Fallback => ({
    applies: (code, { attr }) =>
      code === 'EINVAL' && hasBranches(attr) && (attr.branchSampleType & BigInt(bits)) !== 0n,
    apply({ attr }) {
      attr.branchSampleType &= ~BigInt(bits);
      return { kind: 'feature-dropped', text: `this kernel has no ${what} (Linux ${since} has)` };
    },
  }),
);

/** A breakpoint in the upper half of addresses, the kernel's. */
export function watchesKernelAddress({ type, config1 }: PerfEventAttr): boolean {
  return type === PERF_TYPE_BREAKPOINT && config1 >= 1n << 63n;
}

/**
 * Whether one more letter behind the name is a modifier: `cycles:p`, `cpu/cycles/`,
 * but not `sched:sched_switch`.
 */
function hasModifiers({ name, attr, tracepoint }: PlannedEvent): boolean {
  // The colons of the name itself: `SYSTEM:NAME`, `mem:ADDRESS:ACCESS`.
  const own = attr.type === PERF_TYPE_BREAKPOINT ? 2 : tracepoint === null ? 0 : 1;
  if (own > 0) return name.split(':').length - 1 > own;
  return /[/:]/.test(name);
}

const leaveKernelOut: Fallback = {
  applies: (code, { attr }, { paranoid }) =>
    FORBIDDEN.has(code) &&
    attr.flags.excludeKernel === 0 &&
    attr.flags.excludeUser === 0 &&
    // In user space alone it could never be hit, and the kernel calls it invalid.
    !watchesKernelAddress(attr) &&
    (paranoid ?? 0) >= 2,
  apply(event) {
    event.attr.flags.excludeKernel = 1;
    event.attr.flags.excludeHv = 1;
    event.name += hasModifiers(event) ? 'u' : ':u';
    const why = 'kernel.perf_event_paranoid lets this user see only user space';
    event.changes.push({ kind: 'kernel-excluded', why });
    return null;
  },
};

/**
 * Flags and read formats that older kernels lack, newest first: dropped one by
 * one. [flag, since, what is lost]
 */
const DROPPABLE: readonly (readonly [keyof AttrFlags, string, string])[] = [
  ['buildId', '5.12', 'build ids in map records'],
  ['cgroup', '5.7', 'records of control groups'],
  ['bpfEvent', '5.1', 'records of BPF programs'],
  ['ksymbol', '5.1', 'records of kernel symbols that are added and removed'],
  ['commExec', '3.16', 'whether a name change was an exec'],
  ['mmap2', '3.16', 'devices and inodes of maps'],
];

/**
 * Newer kernels read a group for each child apart (Linux 6.13); older ones refuse to read what is inherited.
 */
const leaveChildrenOut: Fallback = {
  applies: (code, { attr }, { readsInherited }) =>
    code === 'EINVAL' &&
    attr.flags.inherit === 1 &&
    (attr.sampleType & BigInt(PERF_SAMPLE_READ)) !== 0n &&
    readsInherited?.() !== true,
  apply({ attr }) {
    attr.flags.inherit = 0;
    return {
      kind: 'feature-dropped',
      text: 'child processes and new threads are not in this recording, because this kernel cannot read a group (:S) that they inherit (Linux 6.13 can). To record them, leave out :S, or use -a',
    };
  },
};

const dropLostFormat: Fallback = {
  applies: (code, { attr }) => code === 'EINVAL' && (attr.readFormat & BigInt(PERF_FORMAT_LOST)) !== 0n,
  apply({ attr }) {
    attr.readFormat &= ~BigInt(PERF_FORMAT_LOST);
    return {
      kind: 'feature-dropped',
      text: 'this kernel does not count lost samples per event (Linux 6.0 does)',
    };
  },
};

const dropFlags = DROPPABLE.map(
  ([flag, since, what]): Fallback => ({
    applies: (code, { attr }) => code === 'EINVAL' && attr.flags[flag] !== 0,
    apply({ attr }) {
      attr.flags[flag] = 0;
      return { kind: 'feature-dropped', text: `this kernel has no ${what} (Linux ${since} has)` };
    },
  }),
);

/** Some PMUs cannot tell guests from the rest, and refuse to leave them out. */
const includeGuests: Fallback = {
  applies: (code, { attr }) =>
    attr.flags.excludeGuest === 1 && (code === 'EINVAL' || code === 'EOPNOTSUPP' || code === 'EPERM'),
  apply({ attr }) {
    attr.flags.excludeGuest = 0;
    return null;
  },
};

/** Of a PMU that the kernel numbers when its driver is loaded. */
function isOfDriver({ attr }: PlannedEvent): boolean {
  return attr.type > PERF_TYPE_BREAKPOINT;
}

/** What a counted event can give up; tried in this order. It is never counted by another event. */
export const COUNTING_FALLBACKS: readonly Fallback[] = [lowerPrecision, leaveKernelOut, includeGuests];

/** What a sampled event can give up; tried in this order. */
const SAMPLING_FALLBACKS: readonly Fallback[] = [
  lowerPrecision,
  cyclesToClock,
  leaveKernelOut,
  // Before what says that the kernel is old: a PMU that counts for the whole machine says the same of guests.
  {
    ...includeGuests,
    applies: (code, event, facts) => isOfDriver(event) && includeGuests.applies(code, event, facts),
  },
  leaveChildrenOut,
  ...dropBranchBits,
  dropLostFormat,
  ...dropFlags,
];

/**
 * Change `event` so that the kernel may take it after it refused it with `code`. Returns false where nothing
 * is left to give up. Each step gives up something that was there, so it comes to an end.
 */
export function fallBack(
  event: PlannedEvent,
  code: string,
  facts: FallbackFacts,
  notes: Note[],
  fallbacks: readonly Fallback[] = SAMPLING_FALLBACKS,
): boolean {
  const fallback = fallbacks.find((one) => one.applies(code, event, facts));
  if (fallback === undefined) return false;
  const note = fallback.apply(event);
  if (note !== null && !notes.some(({ text }) => text === note.text)) notes.push(note);
  return true;
}
