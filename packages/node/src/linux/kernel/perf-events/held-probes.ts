import type { PerfEventAttr } from '@counterpoint/core/records';
import { encodeAttrShortest } from '@counterpoint/core/records';
import type { Sys } from '../sys/index.ts';
import { keepContext } from './kept-context.ts';
import { isInherited } from './open-event.ts';
import { needsKeptContext, probeAsTracepoint } from './open-probe.ts';
import type { PlannedEvent } from './planned-event.ts';
import { holdProbe } from './probe-definitions.ts';

/**
 * The slow parts of opening probes that threads inherit, done before the threads are listed, so
 * that fewer begin in between: the definition in tracefs (35 ms), the breakpoint in the file (12
 * ms), and the events that keep the contexts of the threads that run already. What cannot be had
 * here is told by the opening itself.
 */
export function holdProbes(
  sys: Sys,
  events: readonly Pick<PlannedEvent, 'attr' | 'probe'>[],
  tasks: readonly number[],
): Disposable {
  const held: (() => void)[] = [];
  const tryHold = (hold: () => (() => void) | undefined) => {
    try {
      const release = hold();
      if (release !== undefined) held.push(release);
    } catch {
      // The opening meets the same, and says it.
    }
  };
  for (const { attr, probe } of events) {
    if (probe === null || probe === undefined) continue;
    if (!tasks.some((task) => isInherited(attr, task))) continue;
    tryHold(() => {
      const { id, release } = holdProbe(sys, probe);
      tryHold(() => openUnused(sys, attr, id, tasks[0]!));
      return release;
    });
    if (needsKeptContext(probe)) for (const task of tasks) tryHold(() => keepContext(sys, task)?.release);
  }
  return {
    [Symbol.dispose]() {
      for (const release of held) release();
    },
  };
}

/** An event that never counts: the probe is in place while it is open. */
function openUnused(sys: Sys, attr: PerfEventAttr, id: number, task: number): () => void {
  const flags = { ...attr.flags, inherit: 0 as const, disabled: 1 as const, enableOnExec: 0 as const };
  const unused = encodeAttrShortest(probeAsTracepoint({ ...attr, flags }, id));
  const fd = sys.perfEventOpen(unused, task, -1, null);
  return () => fd.close();
}
