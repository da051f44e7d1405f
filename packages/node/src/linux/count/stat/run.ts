import { CounterpointError, optional } from '@counterpoint/core/base';
import { type Note, removeLeftovers, takenNotes } from '../../kernel/perf-events/index.ts';
import { realSys, requireLinux, type Sys } from '../../kernel/sys/index.ts';
import {
  type ExitStatus,
  type HeldCommand,
  LEAVE_COMMAND,
  launchHeld,
  listProcesses,
  listThreads,
} from '../../kernel/target/index.ts';
import { type CountingSession, type CountingTarget, openCounting } from '../counting/index.ts';
import { CLOCK_MONOTONIC, CommandEnd } from './command-end.ts';
import { CommandTimes } from './command-times.ts';
import { withEmptyPlaces } from './empty-places.ts';
import { snapshotNames } from './event-kinds.ts';
import { eventSum, type Measurement, measurementOf, subtractMeasurement } from './measurement.ts';
import { checkRunOptions } from './option-tables.ts';
import type { RunOptions, StatScope } from './run-options.ts';
import { TakenWatch } from './taken-watch.ts';
import { TargetWatch } from './target-watch.ts';

/** Why a run ended. */
export type StopReason = 'command-exited' | 'target-ended' | 'timeout' | 'intervals' | 'aborted';

/** What a run has counted. */
export interface RunResult {
  /** The sums of the whole run. */
  total: Measurement;
  /** Why it ended. */
  stopped: StopReason;
  /** How the command ended; null without a command, or while it goes on. */
  exit: ExitStatus | null;
  /** What was done otherwise than requested, and why. */
  notes: Note[];
}

const NS_PER_MS = 1_000_000;

/**
 * Count from the start of a command, or from now. The run ends with its command or target, at a limit of the
 * options, or by `signal`. Then all counters are closed.
 */
export async function countRun(options: RunOptions): Promise<RunResult> {
  requireLinux('countRun()');
  checkRunOptions(options);
  const { command = [], signal } = options;
  if (signal?.aborted === true)
    throw new CounterpointError(
      'ERR_ABORTED',
      'the run was aborted before it began: nothing was started',
      'Start it again with another signal.',
    );
  removeLeftovers(options.sys ?? realSys);
  using held = command.length === 0 ? null : launchHeld(command, options.launch ?? {});
  const sessions = openPatiently(options, held);
  const watches = watchesOf(options, held);
  try {
    const result = await new Run(options, held, sessions).finish();
    result.notes.push(
      ...takenNotes(
        watches.flatMap((watch) => watch.taken()),
        held,
      ),
    );
    return result;
  } finally {
    for (const watch of watches) watch[Symbol.dispose]();
    for (const { session } of sessions) session.close();
  }
}

/** The most processes that are watched for events that the kernel took off. */
const MOST_WATCHES = 16;

function watchesOf(options: RunOptions, held: HeldCommand | null): TakenWatch[] {
  const { scope, control, inherit = true, sys = realSys } = options;
  const own = scope.kind === 'command' ? [held!.pid] : scope.kind === 'processes' ? scope.pids : [];
  const pids = control === null ? [] : own.slice(0, MOST_WATCHES);
  return pids
    .map((pid) => TakenWatch.open(sys, pid, { withChildren: inherit }))
    .filter((watch) => watch !== null);
}

interface OpenScope {
  cgroup: string | null;
  session: CountingSession;
}

const MOST_ATTEMPTS = 10;
/** More counters are not read beforehand. */
const MOST_WARMED_UP = 100;

/** Of all threads there are, some may end between being listed and being opened. */
function openPatiently(options: RunOptions, held: HeldCommand | null): OpenScope[] {
  for (let attempt = 1; ; attempt++) {
    try {
      return openSessions(options, held);
    } catch (error) {
      const hasEnded = error instanceof CounterpointError && error.code === 'ERR_NO_PROCESS';
      if (options.scope.kind !== 'all-threads' || !hasEnded || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

function openSessions(options: RunOptions, held: HeldCommand | null): OpenScope[] {
  const { control, scope, inherit, levels, pinned, exclusive, sys } = options;
  if (control === null) return [];
  const opened: OpenScope[] = [];
  try {
    for (const { cgroup, target } of targetsOf(scope, held?.pid ?? null)) {
      const session = openCounting({
        ...control,
        target,
        enableOnExec: startsByExec(target, options),
        ...optional({ inherit, levels, pinned, exclusive, sys }),
      });
      opened.push({ cgroup, session });
    }
  } catch (error) {
    for (const { session } of opened) session.close();
    throw error;
  }
  return opened;
}

/** The command's exec starts the counters. */
export function startsByExec(
  target: CountingTarget,
  { delayMs = 0, startDisabled = false }: Pick<RunOptions, 'delayMs' | 'startDisabled'>,
): boolean {
  return target.kind === 'command' && delayMs === 0 && !startDisabled;
}

/** One target for each control group, else one. `commandPid` is that of the held command. */
export function targetsOf(
  scope: StatScope,
  commandPid: number | null,
): { cgroup: string | null; target: CountingTarget }[] {
  switch (scope.kind) {
    case 'command':
      return [{ cgroup: null, target: { kind: 'command', pid: commandPid! } }];
    case 'processes':
    case 'threads':
      return [{ cgroup: null, target: scope }];
    case 'all-threads':
      return [{ cgroup: null, target: { kind: 'threads', tids: listProcesses().flatMap(listThreads) } }];
    case 'cpus': {
      const where = optional({ cpus: scope.cpus });
      if (scope.cgroups?.length === 0)
        throw new CounterpointError(
          'ERR_NO_TARGET',
          'the list of control groups is empty, so there is nothing to count',
          'Name a control group, or leave out cgroups to count whole CPUs.',
        );
      if (scope.cgroups === undefined) return [{ cgroup: null, target: { kind: 'cpus', ...where } }];
      return scope.cgroups.map((path) => ({ cgroup: path, target: { kind: 'cgroup', path, ...where } }));
    }
  }
}

class Run {
  readonly #options: RunOptions;
  readonly #held: HeldCommand | null;
  readonly #scopes: readonly OpenScope[];
  readonly #sys: Sys;
  readonly #times: CommandTimes;
  #startNs = 0n;
  #last: Measurement | null = null;

  constructor(options: RunOptions, held: HeldCommand | null, scopes: readonly OpenScope[]) {
    this.#options = options;
    this.#held = held;
    this.#scopes = scopes;
    this.#sys = options.sys ?? realSys;
    this.#times = new CommandTimes(this.#sys);
  }

  async finish(): Promise<RunResult> {
    const { scope, control, delayMs = 0, startDisabled = false, intervalMs, onStart } = this.#options;
    const held = this.#held;
    const notes = this.#scopes.flatMap(({ session }) => session.notes);
    const sessions = this.#scopes.map(({ session }) => session);
    await onStart?.({ sessions, notes, commandPid: held?.pid ?? null });
    using stop = new StopWatch(this.#options, held);
    using end = held === null ? null : new CommandEnd(this.#sys, held.pid);
    if (delayMs > 0) {
      this.#release();
      await Promise.race([stop.reason, pause(delayMs)]);
    }
    if (delayMs === 0) this.#warmUp();
    if (delayMs === 0 && held !== null) {
      held.waitUntilHeld();
      this.#times.markRelease(held.pid);
    }
    if (!startDisabled) for (const session of sessions) session.start();
    stop.begin(scope);
    this.#startNs = this.#now();
    if (delayMs === 0) held?.release();
    // Nothing but its end is due in that time.
    const isUndisturbed = intervalMs === undefined && control?.switching === undefined;
    if (end !== null && isUndisturbed) await end.whileYoung(stop.reason);
    // The counters of others go on after the command: Node takes longer to tell of its
    // end than a short one lasts.
    if (isUndisturbed && end?.endNs != null && scope.kind !== 'command')
      for (const session of sessions) session.stop();
    const stopped =
      intervalMs === undefined ? await stop.reason : await this.#countIntervals(intervalMs, stop);
    // perf ends its command, too, where it stops before it.
    const isLeft = stopped === 'aborted' && this.#options.signal?.reason === LEAVE_COMMAND;
    if (isLeft) held?.abandon();
    else if (stopped === 'timeout' || stopped === 'aborted') held?.kill('SIGTERM');
    const exit = held === null || isLeft ? null : await held.exited;
    // The counters of others go on until they are stopped: no time is to be missing that they counted in.
    if (scope.kind !== 'command') for (const session of sessions) session.stop();
    const exitedAtNs = scope.kind === 'command' ? held?.exitedAtNs : null;
    const endNs = (stopped === 'command-exited' ? (end?.endNs ?? exitedAtNs) : null) ?? this.#now();
    const total = this.#measure(endNs);
    if (intervalMs !== undefined && stopped !== 'intervals') this.#tellInterval(total);
    // Some notes come with the end of sets that take turns. Others end when they are closed: stopping
    // reads all counters once more.
    if (control?.switching !== undefined) for (const session of sessions) session.stop();
    return { total, stopped, exit, notes: sessions.flatMap((session) => session.notes) };
  }

  #release(): void {
    if (this.#held === null) return;
    this.#held.waitUntilHeld();
    this.#times.markRelease(this.#held.pid);
    this.#held.release();
  }

  /**
   * What Node does for the first time takes milliseconds, and would be a part of the command's time: reading
   * counters, and the standard error that closing a socket asks for (the gate of the held command). Thousands
   * of counters take far longer to read.
   */
  #warmUp(): void {
    const sets = this.#scopes.flatMap(({ session }) => session.openSets);
    const counters = sets.reduce((sum, set) => sum + set.counters.flat().length, 0);
    if (counters <= MOST_WARMED_UP) this.#measure();
    void process.stderr;
  }

  async #countIntervals(intervalMs: number, stop: StopWatch): Promise<StopReason> {
    const { intervalCount = Number.POSITIVE_INFINITY } = this.#options;
    for (let done = 0; done < intervalCount; done++) {
      const dueNs = Number(this.#startNs) + (done + 1) * intervalMs * NS_PER_MS;
      const waitMs = Math.max(0, (dueNs - Number(this.#now())) / NS_PER_MS);
      const stopped = await Promise.race([stop.reason, pause(waitMs)]);
      if (stopped !== undefined) return stopped;
      this.#tellInterval(this.#measure());
    }
    return 'intervals';
  }

  #tellInterval(now: Measurement): void {
    const { control, onInterval } = this.#options;
    onInterval?.(subtractMeasurement(now, this.#last, snapshotNames(control ?? {})), now);
    this.#last = now;
  }

  #measure(nowNs: bigint = this.#now()): Measurement {
    const times = this.#times.read();
    const elapsedNs = nowNs - this.#startNs;
    const events = this.#scopes.flatMap(({ cgroup, session }) => {
      const { countedEvents, target } = session;
      const sums = session.read().sets.flatMap((set, at) =>
        set.events.map((count, index) => {
          const { attr, tool, changes: made } = countedEvents[at]![index]!;
          const changes = made.map(({ why }) => why);
          return eventSum({ cgroup, set: set.name, index, attr, tool, changes, count }, times, elapsedNs);
        }),
      );
      // There are too many of them to say it of each.
      return this.#options.scope.kind === 'all-threads' ? sums : withEmptyPlaces(sums, target);
    });
    return measurementOf(events, elapsedNs, times);
  }

  #now(): bigint {
    return this.#sys.clockNs(CLOCK_MONOTONIC);
  }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined));
}

/** What ends a run first. */
class StopWatch implements Disposable {
  readonly reason: Promise<StopReason>;
  readonly #options: RunOptions;
  readonly #hasCommand: boolean;
  #resolve: (reason: StopReason) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #watch: TargetWatch | null = null;
  readonly #onAbort = () => this.#resolve('aborted');

  constructor(options: RunOptions, held: HeldCommand | null) {
    this.#options = options;
    this.#hasCommand = held !== null;
    this.reason = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    held?.exited.then(() => this.#resolve('command-exited'));
    const { signal } = options;
    // `onStart` may have aborted it.
    if (signal?.aborted === true) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  begin(scope: StatScope): void {
    const { timeoutMs } = this.#options;
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#resolve('timeout'), timeoutMs);
    if (this.#hasCommand) return;
    const tasks = scope.kind === 'processes' ? scope.pids : scope.kind === 'threads' ? scope.tids : null;
    this.#watch = new TargetWatch(tasks, () => this.#resolve('target-ended'));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#watch?.[Symbol.dispose]();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
  }
}
