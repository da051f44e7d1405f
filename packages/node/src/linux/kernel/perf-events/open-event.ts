import { PERF_FLAG_PID_CGROUP, PERF_SAMPLE_CALLCHAIN } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { encodeAttrShortest, type PerfEventAttr } from '@counterpoint/core/records';
import { type Fd, type Sys, SysError } from '../sys/index.ts';
import type { Note } from './notes.ts';
import { needsKeptContext, openProbe } from './open-probe.ts';
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
  Partial<Pick<PlannedEvent, 'requestedName' | 'sampleBitsOfOthers' | 'isDefined'>>;

/**
 * What the kernel is told of its samples. For a precise event only the kernel can find call chains, and has
 * to before a program asks for them (EPROTO, kernel/events/core.c): so it is told at the last moment, when it
 * is known how precise the event can be.
 */
export function openedSampleType({
  attr,
  sampleBitsOfOthers = 0n,
}: Pick<EventToOpen, 'attr' | 'sampleBitsOfOthers'>): bigint {
  const bits = attr.sampleType & ~sampleBitsOfOthers;
  return attr.flags.preciseIp === 0 ? bits : bits | (attr.sampleType & BigInt(PERF_SAMPLE_CALLCHAIN));
}

/**
 * perf_event_open of one event, with the text that a probe's attr points to; its filter is in force before it
 * counts. Throws for an event of another machine's tables: its numbers would count something else here.
 */
export function openPlannedEvent(
  sys: Sys,
  event: EventToOpen,
  pid: number,
  cpu: number,
  groupFd: Fd | null,
  { flags = 0, notes = [] }: { flags?: number; notes?: Note[] } = {},
): Fd {
  const { attr, probe, filter, foreignPmu, requestedName, isDefined = false } = event;
  if (foreignPmu !== null && foreignPmu !== undefined) {
    throw new CounterpointError(
      'ERR_FOREIGN_EVENT',
      `${requestedName ?? 'this'} is an event of ${foreignPmu}, which this machine does not have`,
      'You can only look it up: counterpoint stat --plan, list -v, list --pfm --encode.',
    );
  }
  const opened = { ...attr, sampleType: openedSampleType(event) };
  const open = (one: PerfEventAttr) => sys.perfEventOpen(encodeAttrShortest(one), pid, cpu, groupFd, flags);
  const fd =
    probe === null || probe === undefined
      ? open(opened)
      : openProbe(probe, opened, {
          sys,
          task: pid,
          isInherited: isInherited(attr, pid, flags),
          isDefined,
          open,
          notes,
        });
  if (filter !== null && filter !== undefined) setFilter(sys, fd, filter);
  return fd;
}

/**
 * Whether threads and children of the task get the event, too. Events of CPUs
 * and control groups go to nobody.
 */
export function isInherited({ flags }: PerfEventAttr, pid: number, openFlags = 0): boolean {
  return flags.inherit === 1 && pid !== -1 && (openFlags & PERF_FLAG_PID_CGROUP) === 0;
}

/**
 * How many descriptors `rows` of `events` take: each task with inherited probes has one more (`keepContext`).
 */
export function descriptorsOf(
  events: readonly Pick<PlannedEvent, 'attr' | 'probe'>[],
  rows: readonly { event: number; task: number }[],
  flags = 0,
): number {
  const kept = new Set<number>();
  for (const { event, task } of rows) {
    const { attr, probe } = events[event]!;
    if (probe !== null && probe !== undefined && needsKeptContext(probe) && isInherited(attr, task, flags))
      kept.add(task);
  }
  return rows.length + kept.size;
}

function setFilter(sys: Sys, fd: Fd, filter: string): void {
  try {
    sys.setFilter(fd, filter);
  } catch (error) {
    fd.close();
    if (!(error instanceof SysError)) throw error;
    throw new CounterpointError(
      'ERR_FILTER',
      `the kernel does not accept the filter ${filter}: ${error.message}`,
      'Fields and their types: counterpoint list -v SYSTEM:EVENT',
    );
  }
}
