import { PERF_FLAG_PID_CGROUP } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { descriptorsOf, holdProbes, type Note, openForProcesses } from '../../kernel/perf-events/index.ts';
import { paranoidLevel } from '../../kernel/probe/index.ts';
import { type Fd, realSys, requireLinux, type Sys } from '../../kernel/sys/index.ts';
import { openCgroup } from '../../kernel/target/index.ts';
import { checkRequest } from '../requests/check-request.ts';
import { optionsOf, planCounting } from '../requests/request.ts';
import type { ControlRequest, CountingRequest } from '../requests/request-types.ts';
import type { CountingPlan, PlannedSet } from '../requests/types.ts';
import type { OpenSet } from '../sets/counter-set.ts';
import { openSet } from '../sets/open-set.ts';
import { type UnsupportedFacts, unsupportedFacts } from '../sets/reasons.ts';
import { lockExclusive } from './exclusive.ts';
import { CountingSession } from './session.ts';

/**
 * Open counters on a target. An event that the machine does not have stays in the session as `not-supported`,
 * with a reason. A missing right or a missing target is an error: CounterpointError, such as
 * `ERR_PERF_PERMISSION` or `ERR_NO_PROCESS`. A session that switches sets by time or reports overflows keeps
 * this process running until it is closed.
 */
export function openCounting(request: CountingRequest): CountingSession {
  return openOneOf(request, 1);
}

/** One session of `sessions` that are open together, each with as many descriptors. */
export function openOneOf(request: CountingRequest, sessions: number): CountingSession {
  requireLinux('counting');
  checkRequest(request);
  const { target, sys = realSys } = request;
  // 0 would be this process, and -1 everybody.
  if (target.kind === 'command' && target.pid < 1)
    throw new CounterpointError(
      'ERR_NO_PROCESS',
      `${target.pid} is no process`,
      'Give the pid of a held command.',
    );
  const notes: Note[] = [];
  const facts = unsupportedFacts();
  const cgroup = target.kind === 'cgroup' ? openCgroup(target.path) : null;
  const context = { sys, notes, facts, cgroup, sessions };
  let sets: OpenSet[] = [];
  let lock: Fd | null = null;
  try {
    if (request.exclusive === 'require') lock = lockExclusive(sys);
    sets = openSets(request, context);
    const { enableOnExec } = optionsOf(request, 0);
    const { switching = { by: 'manual' } } = request;
    if (switching.by === 'overflow') noteMissingSwitch(switching.event, sets, notes);
    // A control update keeps the target and the options.
    const reopen = (control: ControlRequest, awaitsExec: boolean) => {
      const { events: _, sets: __, overflows: ___, switching: ____, ...whom } = request;
      const opened = openSets({ ...whom, ...control, enableOnExec: awaitsExec }, context);
      if (control.switching?.by === 'overflow') noteMissingSwitch(control.switching.event, opened, notes);
      return opened;
    };
    return new CountingSession({
      sys,
      target,
      sets,
      notes,
      facts,
      enableOnExec,
      owned: [cgroup, lock],
      switching,
      control: request,
      reopen,
    });
  } catch (error) {
    for (const set of sets) set.close();
    cgroup?.close();
    lock?.close();
    throw error;
  }
}

/** Sets that nothing will ever end, since nobody counts what should end them. */
function noteMissingSwitch(event: string, sets: readonly OpenSet[], notes: Note[]): void {
  const stuck = sets.filter(({ events, unsupported }) =>
    events.some(({ requestedName }, index) => requestedName === event && unsupported[index] !== null),
  );
  if (stuck.length === 0) return;
  const text = `sets are never switched, because ${event}, which should switch them, is not counted here`;
  notes.push({ kind: 'no-switch', text });
}

interface Context {
  sys: Sys;
  notes: Note[];
  facts: UnsupportedFacts;
  cgroup: Fd | null;
  sessions: number;
}

/** Of processes the threads are listed as late as can be, and none that begins meanwhile is left out. */
function openSets(request: CountingRequest, context: Context): OpenSet[] {
  const { target } = request;
  const plan = planCounting(request);
  const isAttached = target.kind === 'processes' && plan.sets.some(({ rows }) => rows.length > 0);
  if (!isAttached || !optionsOf(request, 0).inherit) return openPlan(plan, request, context);
  const { sys, notes } = context;
  const events = plan.sets.flatMap((set) => set.events);
  using _held = holdProbes(sys, events, [...tasksOf(plan.sets)]);
  const open = () => {
    const { sets } = planCounting(request);
    const opened = openPlan({ target, sets }, request, context);
    const close = () => {
      for (const set of opened) set.close();
    };
    return { opened, sets, close };
  };
  return openForProcesses({ pids: target.pids, notes, open, tasksOf: ({ sets }) => tasksOf(sets) }).opened;
}

/** The threads that are counted by each set. */
function tasksOf(sets: readonly PlannedSet[]): Set<number> {
  const ofSets = sets
    .filter(({ rows }) => rows.length > 0)
    .map(({ rows }) => new Set(rows.map(({ task }) => task)));
  return new Set([...ofSets[0]!].filter((task) => ofSets.every((tasks) => tasks.has(task))));
}

function openPlan(plan: CountingPlan, request: CountingRequest, context: Context): OpenSet[] {
  const { paranoid = paranoidLevel() } = request;
  const flags = context.cgroup === null ? 0 : PERF_FLAG_PID_CGROUP;
  const ofSets = plan.sets.map(({ events, rows }) => descriptorsOf(events, rows, flags));
  const descriptorsNeeded = context.sessions * ofSets.reduce((sum, count) => sum + count, 0);
  const opened: OpenSet[] = [];
  try {
    for (const [index, set] of plan.sets.entries()) {
      const options = optionsOf(request, index);
      opened.push(openSet(set, { ...context, options, paranoid, descriptorsNeeded }));
    }
    return opened;
  } catch (error) {
    for (const set of opened) set.close();
    throw error;
  }
}
