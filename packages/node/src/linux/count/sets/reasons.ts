import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import {
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_HW_CACHE,
  PERF_TYPE_RAW,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { corePmus } from '@counterpoint/core/events';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import { PermissionError } from '../../kernel/perf-events/index.ts';
import { kernelSetting, paranoidLevel } from '../../kernel/probe/index.ts';
import { SysError } from '../../kernel/sys/index.ts';
import type { CountedEvent, CountingRow, Reading } from '../requests/types.ts';
import { type PlannedCounter, planCounters } from './counter-plan.ts';

/** What decides why an event is refused, apart from the event. */
export interface UnsupportedFacts {
  /** The kernel drives a PMU of the CPU's cores. */
  hasCorePmu: boolean;
  isVirtualMachine: boolean;
  nmiWatchdog: boolean;
}

const WATCHDOG = '; the NMI watchdog holds one (sysctl kernel.nmi_watchdog=0)';
const HARDWARE_TYPES: ReadonlySet<number> = new Set([PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW]);

export function unsupportedFacts(): UnsupportedFacts {
  let hasCorePmu: boolean | null = null;
  return {
    // Asked for only where an event is refused: reading all PMUs takes a while on a slow machine.
    get hasCorePmu() {
      hasCorePmu ??= corePmus(systemEventLookup()).length > 0;
      return hasCorePmu;
    },
    isVirtualMachine: isVirtualMachine(),
    nmiWatchdog: kernelSetting('nmi_watchdog') === 1,
  };
}

function isVirtualMachine(): boolean {
  try {
    if (/^flags\s*:.*\bhypervisor\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'))) return true;
  } catch {
    return false;
  }
  return existsSync('/sys/hypervisor/type') || existsSync('/proc/device-tree/hypervisor');
}

/**
 * Why the kernel does not take an event, from the errno and what is known; `group` is that of an event that
 * it takes alone. Throws where the event is not at fault: the user may not count there, and only a fallback
 * of ours, which that PMU does not take, hid what the kernel said at first.
 */
export function whyUnsupported(
  event: CountedEvent,
  row: CountingRow,
  code: string,
  group: readonly CountedEvent[] | null,
  facts: UnsupportedFacts,
): string {
  if (HARDWARE_TYPES.has(event.attr.type & 0xffff) && !facts.hasCorePmu) {
    return facts.isVirtualMachine
      ? 'this virtual machine has no hardware counters; counterpoint doctor says what its host can do'
      : 'the kernel drives no hardware counters on this CPU';
  }
  if (group !== null) return whyNotTogether(group, event, facts);
  if (code === 'EINVAL') {
    if (event.changes.some(({ kind }) => kind === 'kernel-excluded')) return whyNotWithoutKernel(row);
    return whyInvalid(event, row);
  }
  if (code === 'EOPNOTSUPP') return 'the PMU does not support this (EOPNOTSUPP)';
  return `the PMU has no such event (${code})`;
}

function whyNotTogether(
  group: readonly CountedEvent[],
  event: CountedEvent,
  { nmiWatchdog }: UnsupportedFacts,
): string {
  const asPlanned = group.map((member, index) => ({ ...member, leader: index === 0 ? null : 0 }));
  const planned = reasonIn(planCounters(asPlanned)[group.indexOf(event)]!);
  if (planned !== null) return planned;
  const types = group.map(({ attr }) => attr.type);
  if (new Set(types.filter((type) => type >= FIRST_PMU_TYPE)).size > 1)
    return 'its group has events of several PMUs: the kernel can only count events of one PMU together, and software events';
  return `the group of ${group.length} events needs more counters than the PMU can give it at one time${nmiWatchdog ? WATCHDOG : ''}`;
}

/**
 * The kernel refused the event to this user, and then the same with
 * exclude_kernel, which its PMU does not know.
 */
function whyNotWithoutKernel({ task, cpu }: CountingRow): string {
  if (task === -1)
    throw new PermissionError(
      new SysError('perf_event_open', constants.errno.EACCES, { cpu }),
      'whole-cpus',
      paranoidLevel(),
    );
  return 'this user may count only user space (kernel.perf_event_paranoid), but the PMU of the event cannot leave out the kernel (exclude_kernel=1); root and CAP_PERFMON may count the kernel';
}

/** PMUs that have a number of their own; those of the core have smaller ones for all that is generic. */
const FIRST_PMU_TYPE = 6;

const BREAKPOINT_LENGTHS: ReadonlySet<bigint> = new Set([1n, 2n, 4n, 8n]);
/** HW_BREAKPOINT_R, W and X of linux/hw_breakpoint.h. */
const [READ_WRITE, EXECUTE] = [3, 4];

/** What the kernel cannot take though no single field without it would do. */
function whyInvalid({ attr, cpus }: CountedEvent, row: CountingRow): string {
  const { type, config, config2, breakpointType } = attr;
  const refuses = 'the kernel refuses';
  if (type === PERF_TYPE_TRACEPOINT)
    return `${refuses} config=0x${config.toString(16)}: there is no tracepoint with this number that can be counted`;
  if (type === PERF_TYPE_BREAKPOINT) {
    const typeText = `bp_type=${breakpointType}`;
    if (breakpointType === 0)
      return `${refuses} ${typeText}: a breakpoint is for reads, writes or execution (mem:ADDRESS:rw, mem:ADDRESS:x)`;
    if ((breakpointType & EXECUTE) !== 0 && (breakpointType & READ_WRITE) !== 0)
      return `${refuses} ${typeText}: this CPU cannot watch execution together with reads or writes`;
    if (!BREAKPOINT_LENGTHS.has(config2) || breakpointType === EXECUTE)
      return `${refuses} bp_len=${config2}: this CPU has no breakpoint of this kind with this length`;
  }
  // The PMU of a part of the chip says on which CPUs it is read, and knows no tasks.
  if (row.cpu < 0 && cpus !== null)
    return `${refuses} it for single tasks: its PMU counts only whole CPUs (-a)`;
  return `${refuses} the event (EINVAL), and does not say which field`;
}

/** What is known of the events of a set without asking the kernel, by event. */
interface SetFacts {
  planned: (string | null)[];
  isInGroup: boolean[];
}

/** They are final once a set is open; with thousands of events they are found out once, not for each. */
const factsOfSets = new WeakMap<readonly CountedEvent[], SetFacts>();

function factsOf(events: readonly CountedEvent[]): SetFacts {
  let facts = factsOfSets.get(events);
  if (facts === undefined) {
    const leaders = new Set(events.map(({ leader }) => leader));
    facts = {
      planned: planCounters(events).map(reasonIn),
      isInGroup: events.map(({ leader }, index) => leader !== null || leaders.has(index)),
    };
    factsOfSets.set(events, facts);
  }
  return facts;
}

/** Why an event that was open has no count. */
export function whyNotCounted(
  events: readonly CountedEvent[],
  index: number,
  { enabledNs }: Reading,
  isRefused: boolean,
  facts: UnsupportedFacts,
  hadTurn: boolean,
): string {
  if (isRefused) return 'it is pinned, but no counter was free for it';
  if (!hadTurn) return 'its set never had a turn';
  if (enabledNs === 0n) return 'the target did not run while it was enabled';
  const { planned, isInGroup } = factsOf(events);
  const reason = planned[index]!;
  if (reason !== null) return reason;
  const watchdog = facts.nmiWatchdog ? WATCHDOG : '';
  return isInGroup[index]!
    ? `there were never enough free counters for its group${watchdog}`
    : `no counter was free for it${watchdog}`;
}

/** What the description of the PMU says of an event that can never be counted. */
function reasonIn({ kind, reason }: PlannedCounter): string | null {
  return kind === 'unschedulable' ? reason : null;
}
