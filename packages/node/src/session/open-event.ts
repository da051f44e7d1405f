import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { encodeAttrShortest } from '@counterpoint/core/records';
import { type Fd, pinText, type Sys, SysError } from '../sys/index.ts';
import type { PlannedEvent } from './planned-event.ts';

/** Throws for an event of another machine's tables: its numbers would count something else here. */
export function beyondAttr({
  name,
  probe,
  filter,
  foreignPmu,
}: ParsedEvent): Pick<PlannedEvent, 'probe' | 'filter'> {
  if (foreignPmu !== undefined) {
    throw new CounterpointError(
      'ERR_FOREIGN_EVENT',
      `${name} is an event of ${foreignPmu}, which this machine is not`,
      `Its encoding can be looked up: counterpoint list --pfm --encode '${name}'`,
    );
  }
  return { probe: probe ?? null, filter: filter ?? null };
}

/** perf_event_open of one event, with the text that a probe's attr points to; its filter is in force before it counts. */
export function openPlannedEvent(
  sys: Sys,
  { attr, probe, filter }: Pick<PlannedEvent, 'attr' | 'probe' | 'filter'>,
  pid: number,
  cpu: number,
  groupFd: Fd | null,
  flags = 0,
): Fd {
  // The kernel copies the text while it opens the event.
  const target = probe === null || probe === undefined ? null : pinText(probe.target);
  const bytes = encodeAttrShortest(target === null ? attr : { ...attr, config1: target.address });
  const fd = sys.perfEventOpen(bytes, pid, cpu, groupFd, flags);
  if (filter !== null && filter !== undefined) setFilter(sys, fd, filter);
  return fd;
}

function setFilter(sys: Sys, fd: Fd, filter: string): void {
  try {
    sys.setFilter(fd, filter);
  } catch (error) {
    fd.close();
    if (!(error instanceof SysError)) throw error;
    throw new CounterpointError(
      'ERR_FILTER',
      `the kernel does not take the filter ${filter}: ${error.message}`,
      'Fields and their types: counterpoint list -v SYSTEM:EVENT',
    );
  }
}
