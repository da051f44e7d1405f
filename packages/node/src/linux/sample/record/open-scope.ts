import {
  holdProbes,
  type Note,
  type OpenTarget,
  openForProcesses,
  openSampledEvents,
  type PlannedEvent,
  planOpen,
  type SampledEvents,
} from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import type { RecordOptions } from './options.ts';
import { openTarget, type Scope } from './request.ts';

export interface ScopeOpening<Attached extends Disposable> {
  sys: Sys;
  scope: Scope;
  options: RecordOptions;
  /** As it was planned with. */
  target: OpenTarget;
  planned: PlannedEvent[];
  pages: { wanted: number; enough: number };
  notes: Note[];
  /** What belongs to the events, and has to be there for every thread of the target, too. */
  attach: (sampled: SampledEvents, target: OpenTarget) => Attached;
}

export interface OpenedScope<Attached> {
  sampled: SampledEvents;
  target: OpenTarget;
  attached: Attached;
}

/**
 * Open what was planned; of processes also the threads that begin meanwhile.
 * Returns the target as it was opened.
 */
export function openForScope<Attached extends Disposable>({
  sys,
  scope,
  options,
  target,
  planned,
  pages,
  notes,
  attach,
}: ScopeOpening<Attached>): OpenedScope<Attached> {
  // Events give up what the kernel refuses: the next try begins with what this one was left with.
  const open = (whom: OpenTarget) => {
    const sampled = openSampledEvents(sys, planOpen(planned, whom, pages.wanted, pages.enough), { notes });
    try {
      return { sampled, target: whom, attached: attach(sampled, whom) };
    } catch (error) {
      sampled.close();
      throw error;
    }
  };
  if (scope.kind !== 'processes' || options.inherit === false) return open(target);
  using _held = holdProbes(sys, planned, target.tasks);
  return openForProcesses({
    pids: scope.pids,
    notes,
    open() {
      const opened = open(openTarget(scope, options, null));
      const close = () => {
        opened.attached[Symbol.dispose]();
        opened.sampled.close();
      };
      return { ...opened, close };
    },
    tasksOf: (opened) => opened.target.tasks,
  });
}
