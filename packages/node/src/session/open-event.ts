import { PERF_SAMPLE_CALLCHAIN } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { encodeAttrShortest } from '@counterpoint/core/records';
import { type Fd, pinText, type Sys, SysError } from '../sys/index.ts';
import type { PlannedEvent } from './planned-event.ts';

/** What an event is beside its attr. */
export function beyondAttr({
  probe,
  filter,
  foreignPmu,
}: ParsedEvent): Pick<PlannedEvent, 'probe' | 'filter' | 'foreignPmu'> {
  return { probe: probe ?? null, filter: filter ?? null, foreignPmu: foreignPmu ?? null };
}

/** What is opened, and what of it an error names. */
type EventToOpen = Pick<PlannedEvent, 'attr' | 'probe' | 'filter' | 'foreignPmu'> &
  Partial<Pick<PlannedEvent, 'requestedName' | 'sampleBitsOfOthers'>>;

/**
 * What the kernel is told of its samples. For a precise event only the kernel can find call chains, and has to before a program asks
 * for them (EPROTO, kernel/events/core.c): so it is told at the last moment, when it is known how precise the event can be.
 */
export function openedSampleType({
  attr,
  sampleBitsOfOthers = 0n,
}: Pick<EventToOpen, 'attr' | 'sampleBitsOfOthers'>): bigint {
  const bits = attr.sampleType & ~sampleBitsOfOthers;
  return attr.flags.preciseIp === 0 ? bits : bits | (attr.sampleType & BigInt(PERF_SAMPLE_CALLCHAIN));
}

/**
 * perf_event_open of one event, with the text that a probe's attr points to; its filter is in force before it counts.
 * Throws for an event of another machine's tables: its numbers would count something else here.
 */
export function openPlannedEvent(
  sys: Sys,
  event: EventToOpen,
  pid: number,
  cpu: number,
  groupFd: Fd | null,
  flags = 0,
): Fd {
  const { attr, probe, filter, foreignPmu, requestedName } = event;
  if (foreignPmu !== null && foreignPmu !== undefined) {
    throw new CounterpointError(
      'ERR_FOREIGN_EVENT',
      `${requestedName ?? 'this'} is an event of ${foreignPmu}, which this machine does not have`,
      'It can be looked up only: counterpoint stat --plan, list -v, list --pfm --encode.',
    );
  }
  // The kernel copies the text while it opens the event.
  const target = probe === null || probe === undefined ? null : pinText(probe.target);
  const opened = { ...attr, sampleType: openedSampleType(event) };
  if (target !== null) opened.config1 = target.address;
  const fd = sys.perfEventOpen(encodeAttrShortest(opened), pid, cpu, groupFd, flags);
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
