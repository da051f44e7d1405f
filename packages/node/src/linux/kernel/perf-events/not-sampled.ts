import { PERF_TYPE_BREAKPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { canMonitorAll } from '../probe/index.ts';
import { type Sys, SysError } from '../sys/index.ts';
import { openPlannedEvent } from './open-event.ts';
import type { PlannedEvent } from './planned-event.ts';

/**
 * Where the kernel only says EINVAL (or that it has no such event): whether it is the sampling that it
 * refuses, or the program as a target. It is asked for the event as a counter, which costs nothing.
 * Null where that is refused, too.
 */
export function whyNotSampled(
  sys: Sys,
  event: PlannedEvent,
  { task, cpu }: { task: number; cpu: number },
): CounterpointError | null {
  const { requestedName: name } = event;
  const isWhole = task === -1;
  if (isCounted(sys, event, task, cpu))
    return new CounterpointError(
      'ERR_EVENT_NOT_SAMPLED',
      `${name} can be counted but not sampled, because its counter does not interrupt`,
      `Count it: counterpoint stat -e ${name}. Or read it at every sample of another event: -e '{cpu-clock,${name}}:S'`,
    );
  if (event.attr.flags.excludeKernel === 1 && !canMonitorAll(sys.effectiveCapabilities()))
    return maybeKernelToo(event);
  if (isWhole || !isCounted(sys, event, -1, cpu)) return null;
  return new CounterpointError(
    'ERR_EVENT_WHOLE_CPUS',
    `${name} is counted for whole CPUs, not for programs or threads`,
    `Watch whole CPUs: -a, or -C CPUS. If it cannot be sampled there either, count it: counterpoint stat -a -e ${name}`,
  );
}

/**
 * Asked for the kernel, too, the kernel would only speak of rights: what the PMU
 * can do is not seen by this user.
 */
function maybeKernelToo({ requestedName: name, attr }: PlannedEvent): CounterpointError | null {
  // The kernel's own PMUs can: those of drivers have higher numbers.
  if (attr.type <= PERF_TYPE_BREAKPOINT) return null;
  return new CounterpointError(
    'ERR_EVENT_OPEN',
    `the kernel refuses ${name} without the kernel's part (EINVAL), and this user may watch only user space: either its PMU cannot leave out the kernel, or the event can be counted but not sampled`,
    `Record another event, such as cpu-clock. As root, or with CAP_PERFMON, count it: counterpoint stat -e ${name}`,
  );
}

function isCounted(sys: Sys, event: PlannedEvent, task: number, cpu: number): boolean {
  const { attr } = event;
  const flags = {
    ...attr.flags,
    freq: 0,
    inherit: 0,
    excludeGuest: 0,
    disabled: 1,
    enableOnExec: 0,
  };
  const counted = { ...attr, flags, samplePeriodOrFreq: 0n, sampleType: 0n, readFormat: 0n };
  try {
    openPlannedEvent(sys, { ...event, attr: counted, filter: null }, task, cpu, null).close();
    return true;
  } catch (error) {
    if (error instanceof SysError) return false;
    throw error;
  }
}
