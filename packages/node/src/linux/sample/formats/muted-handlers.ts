/**
 * Handlers of events whose own records are nobody's (`isMuted`). Children inherit an event as it is: who is
 * forked before the handler is attached has the event without it, for all its life.
 *
 *   opened with the others ... programs are loaded ...   opened again, attached     the first one is closed
 *        └── tens of milliseconds, some forks ──┘         └── microseconds ──┘       └── with all who inherited it
 *
 * Those few who are forked in between even so are counted by the kernel (`muted-events.ts` of `perf-events`).
 */
import type { LossFacts } from '@counterpoint/core/loss';
import { attachToEvent, type LoadedProgram } from '../../kernel/bpf/index.ts';
import {
  type EventInstance,
  isInherited,
  lostOf,
  openPlannedEvent,
  type SampledEvent,
} from '../../kernel/perf-events/index.ts';
import { type Sys, SysError } from '../../kernel/sys/index.ts';

/** Whether it is opened again. A group would have to be opened as a whole: it stays as it is. */
export function isOpenedAgain(event: SampledEvent, all: readonly SampledEvent[]): boolean {
  const { attr, instances, isMuted = false, cgroup = null } = event;
  // The command of an exec is held back: it forks nobody.
  const waitsForExec = attr.flags.enableOnExec === 1;
  const hasGroups = all.some(({ leader }) => leader !== null);
  return (
    isMuted &&
    !waitsForExec &&
    !hasGroups &&
    cgroup === null &&
    instances.some(({ task }) => isInherited(attr, task))
  );
}

/** Opens the same again, not yet enabled, and attaches at once. */
export function attachToReopened(
  sys: Sys,
  program: LoadedProgram,
  event: SampledEvent,
  instance: EventInstance,
): Disposable {
  const before = instance.fd;
  try {
    instance.fd = openPlannedEvent(sys, event, instance.task, instance.cpu, null);
  } catch (error) {
    // The thread has ended: nobody inherits from it any more.
    if (!(error instanceof SysError) || error.code !== 'ESRCH') throw error;
    return attachToEvent(sys, program, before);
  }
  // Nothing between these two.
  const attached = attachToEvent(sys, program, instance.fd);
  instance.id = sys.eventId(instance.fd);
  sys.setOutput(instance.fd, before);
  before.close();
  return attached;
}

/** What the kernel sampled without running the handler. */
export function notAttached(sys: Sys, events: readonly SampledEvent[]): LossFacts[] {
  return events
    .filter(({ isMuted = false }) => isMuted)
    .flatMap((event) => lostOf(sys, event)?.byInstance.map((one) => ({ ...one, event: event.name })) ?? [])
    .filter(({ lostSamples }) => lostSamples > 0n)
    .map(({ event, instance: { cpu }, lostSamples }) => ({
      kind: 'format-not-attached',
      event,
      cpu,
      count: lostSamples,
    }));
}
