import {
  holdProbes,
  type Note,
  type OpenTarget,
  openForProcesses,
  openSampledEvents,
  type PlannedEvent,
  planOpen,
  type SampledEvents,
} from '../perf-events/index.ts';
import type { Sys } from '../sys/index.ts';
import type { RecordOptions } from './options.ts';
import { openTarget, type Scope } from './request.ts';

export interface ScopeOpening {
  sys: Sys;
  scope: Scope;
  options: RecordOptions;
  /** As it was planned with. */
  target: OpenTarget;
  planned: PlannedEvent[];
  pages: { wanted: number; enough: number };
  notes: Note[];
}

/**
 * Open what was planned; of processes also the threads that begin meanwhile. Gives whom it has in the end.
 */
export function openForScope({ sys, scope, options, target, planned, pages, notes }: ScopeOpening): {
  sampled: SampledEvents;
  target: OpenTarget;
} {
  // Events give up what the kernel refuses: the next try begins with what this one was left with.
  const open = (whom: OpenTarget) => ({
    sampled: openSampledEvents(sys, planOpen(planned, whom, pages.wanted, pages.enough), { notes }),
    target: whom,
  });
  if (scope.kind !== 'processes' || options.inherit === false) return open(target);
  using _held = holdProbes(sys, planned, target.tasks);
  return openForProcesses({
    pids: scope.pids,
    notes,
    open() {
      const opened = open(openTarget(scope, options, null));
      return { ...opened, close: () => opened.sampled.close() };
    },
    tasksOf: (opened) => opened.target.tasks,
  });
}
