import { existsSync, readFileSync } from 'node:fs';
import { PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW } from '@counterpoint/core/abi';
import { corePmus } from '@counterpoint/core/events';
import { systemEventLookup } from '../pmu/index.ts';
import { kernelSetting } from '../probe/index.ts';
import { planCounters } from './counter-plan.ts';
import type { CountedEvent, CountingRow, PlannedSet, Reading } from './types.ts';

/** What decides why an event is refused, apart from the event. */
export interface UnsupportedFacts {
  /** The kernel drives a PMU of the CPU's cores. */
  hasCorePmu: boolean;
  isVirtualMachine: boolean;
  nmiWatchdog: boolean;
}

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

/** Why the kernel does not take an event, from the errno and what is known. */
export function whyUnsupported(
  event: CountedEvent,
  row: CountingRow,
  code: string,
  set: PlannedSet,
  facts: UnsupportedFacts,
): string {
  if (HARDWARE_TYPES.has(event.attr.type & 0xffff) && !facts.hasCorePmu) {
    return facts.isVirtualMachine
      ? 'this virtual machine has no hardware counters'
      : 'the kernel drives no hardware counters on this CPU';
  }
  if (code === 'EINVAL' && event.leader !== null) {
    const planned = plannedReason(set.events, set.events.indexOf(event));
    if (planned !== null) return planned;
    const size = set.events.filter(({ leader }) => leader === event.leader).length + 1;
    const watchdog = facts.nmiWatchdog ? '; the NMI watchdog holds one (sysctl kernel.nmi_watchdog=0)' : '';
    return `the group of ${size} events needs more counters than the PMU has for them at one time${watchdog}`;
  }
  if (code === 'EINVAL' && row.cpu < 0)
    return 'the kernel refuses it for single tasks; its PMU may count whole CPUs only (-a)';
  if (code === 'EINVAL') return 'the kernel refuses a field of the event (EINVAL)';
  if (code === 'EOPNOTSUPP') return 'the PMU cannot do what is asked (EOPNOTSUPP)';
  return `the PMU has no such event (${code})`;
}

/** Why an event that was open has no count. */
export function whyNotCounted(
  events: readonly CountedEvent[],
  index: number,
  { enabledNs }: Reading,
  isRefused: boolean,
  facts: UnsupportedFacts,
): string {
  if (isRefused) return 'it is pinned, and no counter was free for it';
  if (enabledNs === 0n) return 'the target did not run while it was enabled';
  const planned = plannedReason(events, index);
  if (planned !== null) return planned;
  const watchdog = facts.nmiWatchdog ? '; the NMI watchdog holds one (sysctl kernel.nmi_watchdog=0)' : '';
  const isInGroup = events[index]!.leader !== null || events.some(({ leader }) => leader === index);
  return isInGroup
    ? `there were never enough free counters for its group${watchdog}`
    : `no counter was free for it${watchdog}`;
}

/** What the description of the PMU says of an event that can never be counted. */
function plannedReason(events: readonly CountedEvent[], index: number): string | null {
  const { kind, reason } = planCounters(events)[index]!;
  return kind === 'unschedulable' ? reason : null;
}
