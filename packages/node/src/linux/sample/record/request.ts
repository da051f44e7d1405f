import { PERF_MAX_STACK_DEPTH } from '@counterpoint/core/abi';
import { CounterpointError, didYouMean, nearestNames, optional, printable } from '@counterpoint/core/base';
import { BRANCH_FILTERS, branchFilterBits } from '@counterpoint/core/branches';
import type { EventLookup, ParsedEvent } from '@counterpoint/core/events';
import {
  ALL_REGISTERS,
  DEFAULT_STACK_BYTES,
  defaultEvent,
  type Note,
  type OpenTarget,
  type RecordedParts,
  registerMask,
  type SamplingOptions,
} from '../../kernel/perf-events/index.ts';
import { kernelSetting } from '../../kernel/probe/index.ts';
import {
  isNodeProgram,
  listProcesses,
  listProcessesOf,
  listThreads,
  mayStartNode,
  readProcLink,
  requireOnline,
  requireProcess,
  requireThread,
  resolveProgram,
  workingDirectory,
} from '../../kernel/target/index.ts';
import { withSoftPmus } from '../../stepping/softpmu/index.ts';
import { addressFilters, traceSourceOf } from '../trace-pmus/index.ts';
import { CHAIN_PARTS } from './long-chains.ts';
import type { RecordOptions } from './options.ts';

/** What `callGraph` may be; programs without types may give anything. */
const CALL_GRAPHS: readonly unknown[] = [true, false, 'fp', 'dwarf', 'lbr'];
const DEFAULT_FREQUENCY_HZ = 4000;
/** time.h */
const CLOCK_MONOTONIC = 1;
const FALLBACK_MAX_SAMPLE_RATE = 100_000;

/** The target of the recording. */
export type Scope =
  | { kind: 'command' }
  | { kind: 'processes'; pids: readonly number[]; uid?: number }
  | { kind: 'threads'; tids: readonly number[] }
  | { kind: 'cpus' };

/** Processes win over threads, and both over whole CPUs, as in perf. */
export function scopeOf(options: RecordOptions): Scope {
  refuseEmptyLists(options);
  if (options.pids !== undefined && options.pids.length > 0) return { kind: 'processes', pids: options.pids };
  if (options.tids !== undefined && options.tids.length > 0) return { kind: 'threads', tids: options.tids };
  if (options.uid !== undefined) return processesOfUser(options.uid);
  const isWide = options.systemWide === true || options.cpus !== undefined || options.cgroups !== undefined;
  if (isWide) return { kind: 'cpus' };
  if (options.command !== undefined && options.command.length > 0) return { kind: 'command' };
  throw new CounterpointError(
    'ERR_NO_TARGET',
    'nothing to record',
    'Give a command (-- COMMAND), a process (-p PID), a thread (-t TID) or all CPUs (-a).',
  );
}

/** Kernel threads are the kernel's, whoever their user is by name. */
function processesOfUser(uid: number): Scope {
  const pids = listProcessesOf(uid).filter((pid) => pid !== process.pid);
  if (pids.length > 0) return { kind: 'processes', pids, uid };
  throw new CounterpointError(
    'ERR_NO_PROCESS',
    `the user ${uid} runs no process now`,
    `List users with ps -eo user,pid,comm.`,
  );
}

/** A list that turned out empty is nobody, and not everybody, nor what another option says. */
export function refuseEmptyLists({ pids, tids }: Pick<RecordOptions, 'pids' | 'tids'>): void {
  for (const [name, list] of Object.entries({ pids, tids }))
    if (list?.length === 0)
      throw new CounterpointError(
        'ERR_NO_TARGET',
        `${name} is an empty list, so there is nothing to watch`,
        'Leave it out, or give at least one.',
      );
}

/** Who is watched and runs already; of whole CPUs that is nobody in particular. */
export function processesOf(scope: Scope): readonly number[] {
  if (scope.kind === 'processes') return scope.pids;
  return scope.kind === 'threads' ? scope.tids : [];
}

/**
 * Whether frames of interpreted functions could be read from samples: those have a
 * call chain, and are no others.
 */
export function hasFrameSamples({ callGraph, callchains, formats, nodeNames }: RecordOptions): boolean {
  const hasChains = callGraph === true || callGraph === 'fp';
  return (
    process.arch === 'x64' &&
    hasChains &&
    callchains !== 'kernel' &&
    (formats ?? []).length === 0 &&
    nodeNames !== false
  );
}

/**
 * With `perThread` nobody inherits the events. Throws `ERR_PER_THREAD` where something is asked for that is
 * of CPUs.
 */
export function withPerThread(options: RecordOptions, scope: Scope): RecordOptions {
  if (options.perThread !== true) return options;
  const refuse = (what: string, remedy: string) =>
    new CounterpointError('ERR_PER_THREAD', `perThread does not go with ${what}`, remedy);
  if (scope.kind === 'cpus' || options.cpus !== undefined)
    throw refuse('chosen CPUs', 'Leave one of them out: events of threads follow them to all CPUs.');
  if ((options.formats ?? []).some((format) => format !== 'ring'))
    throw refuse(
      'sampling formats',
      'Leave the format out, or watch without children only (inherit: false).',
    );
  if (options.eventLoops === true)
    throw refuse('turns of event loops', 'Leave perThread out: loops of all threads are told apart anyway.');
  return { ...options, inherit: false };
}

/** Threads and CPUs of a scope. The held command is `commandPid`. */
export function openTarget(scope: Scope, options: RecordOptions, commandPid: number | null): OpenTarget {
  const cpus = options.perThread === true ? [-1] : requireOnline(options.cpus);
  switch (scope.kind) {
    case 'command':
      return { tasks: [commandPid!], cpus };
    case 'cpus':
      return { tasks: [-1], cpus };
    case 'threads':
      for (const tid of scope.tids) requireThread(tid);
      return { tasks: [...new Set(scope.tids)], cpus };
    case 'processes':
      // Those that were found by their user may end meanwhile.
      if (scope.uid === undefined) for (const pid of scope.pids) requireProcess(pid);
      return { tasks: [...new Set(scope.pids.flatMap(listThreads))], cpus };
  }
}

export function samplingOptions(scope: Scope, options: RecordOptions, notes: Note[]): SamplingOptions {
  const { period, callGraph, callchains = 'both', clockId } = options;
  if (callGraph !== undefined && !CALL_GRAPHS.includes(callGraph))
    throw new CounterpointError(
      'ERR_CALL_GRAPH',
      `call graphs by ${callGraph} are not recorded`,
      "Give true or 'fp' (by frame pointers), 'dwarf' (by copies of the stack), or 'lbr' (by branch records); record() takes 'auto', too.",
    );
  if (options.userStackBytes !== undefined && callGraph !== 'dwarf')
    throw new CounterpointError(
      'ERR_CALL_GRAPH',
      'userStackBytes is given, but no stacks are copied',
      "Give callGraph: 'dwarf', too.",
    );
  const formatNames = (options.formats ?? []).filter((format) => format !== 'ring');
  if (callGraph === 'dwarf' && formatNames.length > 0)
    throw new CounterpointError(
      'ERR_CALL_GRAPH',
      'sampling formats cannot copy stacks: they take call chains by frame pointers',
      'Leave the format out, or record call chains by frame pointers (-g).',
    );
  if (period !== undefined && options.frequency !== undefined)
    throw new CounterpointError(
      'ERR_FREQUENCY_AND_PERIOD',
      'both a frequency and a period are given',
      'A period is the number of events between samples; a frequency lets the kernel choose it.',
    );
  return {
    frequency: frequencyHz(options.frequency, notes),
    ...(period === undefined ? {} : { period: BigInt(period) }),
    isRateGiven: options.frequency !== undefined || period !== undefined,
    callchains: callGraph === undefined || callGraph === false ? 'none' : callchains,
    ...branchOptions(options, notes),
    ...(callGraph === 'dwarf' ? { userStackBytes: options.userStackBytes ?? DEFAULT_STACK_BYTES } : {}),
    parts: recordedParts(options),
    withoutSamples: options.samples === false,
    taskCounts: options.taskCounts === true,
    withoutBpf: options.bpfPrograms === false,
    ...chainLimits(callGraph === undefined || callGraph === false, notes),
    userStackTop: process.arch === 'x64' && (options.formats ?? []).length === 0 && isOfNode(scope, options),
    inherit: options.inherit ?? true,
    wholeCpus: scope.kind === 'cpus',
    enableOnExec: scope.kind === 'command',
    startsLater: (options.delayMs ?? 0) > 0 || options.startDisabled === true,
    levels: options.levels ?? 'all',
    ...(options.eventLoops === true ? { switches: true } : {}),
    // Formats may have no event at all; and perf 6.1 fails on a file of tracepoints only that has
    // samples without their records.
    sidebandApart: (options.formats ?? []).length > 0 || options.onControl !== undefined,
    ...optional({ clockId }),
    ...wakeupOf(options),
  };
}

function wakeupOf({
  wakeupEvents,
  wakeupBytes,
  formats = [],
}: RecordOptions): Pick<SamplingOptions, 'wakeup'> {
  if (wakeupEvents === undefined && wakeupBytes === undefined) return {};
  if (wakeupEvents !== undefined && wakeupBytes !== undefined)
    throw new CounterpointError(
      'ERR_WAKEUP',
      'both wakeupEvents and wakeupBytes are given',
      'The kernel wakes by a number of samples or by a number of bytes: leave one out.',
    );
  if (formats.length > 0 && !formats.includes('ring'))
    throw new CounterpointError(
      'ERR_WAKEUP',
      'sampling formats have no records that could wake anybody',
      'Leave out wakeupEvents and wakeupBytes (--no-buffering), or the format.',
    );
  return { wakeup: wakeupEvents === undefined ? { bytes: wakeupBytes! } : { events: wakeupEvents } };
}

/** Branches of samples, and call chains that are made of them: one CPU has one table for both. */
function branchOptions(
  { branchStack, callGraph, formats = [], levels, callchains }: RecordOptions,
  notes: Note[],
): Pick<SamplingOptions, 'branchBits' | 'lbrCallStacks'> {
  const isLbr = callGraph === 'lbr';
  if (branchStack === undefined && !isLbr) return {};
  if (formats.some((format) => format !== 'ring'))
    throw new CounterpointError(
      'ERR_BRANCH_STACK',
      'sampling formats cannot record branches',
      'Leave the format out, or record call chains by frame pointers (-g) and no branches.',
    );
  if (isLbr && branchStack !== undefined)
    notes.push({
      kind: 'feature-dropped',
      text: 'call chains are by frame pointers: the branches that are recorded take the place of those that chains are made of',
    });
  else if (isLbr && (levels === 'kernel' || callchains === 'kernel'))
    notes.push({
      kind: 'feature-dropped',
      text: "call chains are by frame pointers: branch records make only the user's part of chains",
    });
  if (branchStack === undefined) return { lbrCallStacks: true };
  const unknown = branchStack.find((word) => BRANCH_FILTERS[word] === undefined);
  if (unknown === undefined) return { branchBits: branchFilterBits(branchStack) };
  const known = Object.keys(BRANCH_FILTERS);
  throw new CounterpointError(
    'ERR_BRANCH_STACK',
    `no kind of branch is called ${printable(unknown)}${didYouMean(nearestNames(unknown, known))}`,
    `Give some of: ${known.join(', ')}.`,
  );
}

function recordedParts({
  sampleParts,
  sideband,
  interruptRegisters,
  userRegisters,
}: RecordOptions): RecordedParts {
  const mask = (names: readonly string[] | 'all') => (names === 'all' ? ALL_REGISTERS : registerMask(names));
  return {
    // Samples tell the number of a cgroup, records its name.
    samples: [
      ...(sampleParts ?? []),
      ...(sideband?.includes('cgroups') === true ? (['cgroup'] as const) : []),
    ],
    ...optional({ sideband }),
    ...(interruptRegisters === undefined ? {} : { interruptRegisters: mask(interruptRegisters) }),
    ...(userRegisters === undefined ? {} : { userRegisters: mask(userRegisters) }),
  };
}

/**
 * Samples of Node have times of a clock that the recorder can read, too: which function was at an address
 * depends on the time.
 */
export function withClock<Options extends RecordOptions>(scope: Scope, options: Options): Options {
  return options.clockId === undefined && isOfNode(scope, options)
    ? { ...options, clockId: CLOCK_MONOTONIC }
    : options;
}

/**
 * Whether Node is recorded: V8's interpreter and most of its builtins build no frame, so the chain
 * lacks the function that is running. On x86-64 its return address is at the top of the stack.
 */
export function isOfNode(scope: Scope, options: RecordOptions): boolean {
  switch (scope.kind) {
    case 'command':
      return isNodeCommand(options);
    case 'processes':
      return scope.pids.some(isNodeProcess);
    case 'threads':
      return scope.tids.some(isNodeProcess);
    case 'cpus':
      return (
        isNodeCommand(options) || listProcesses().some((pid) => pid !== process.pid && isNodeProcess(pid))
      );
  }
}

/** Node, or what may start it. */
function isNodeCommand({
  command = [],
  nodeNames = 'auto',
  launch: { cwd = workingDirectory(), env = process.env } = {},
}: RecordOptions): boolean {
  if (command.length === 0 || nodeNames === true) return nodeNames === true;
  try {
    const program = resolveProgram(command[0]!, { path: env['PATH'], cwd });
    return nodeNames === 'auto' ? mayStartNode(program, command) : isNodeProgram(program);
  } catch {
    // Who starts it says what is wrong.
    return false;
  }
}

/** Also of a thread. */
function isNodeProcess(pid: number): boolean {
  const program = readProcLink(`${pid}/exe`)?.replace(/ \(deleted\)$/, '');
  return program !== undefined && isNodeProgram(program);
}

function frequencyHz(wanted: number | 'max' | undefined, notes: Note[]): number {
  const highest = kernelSetting('perf_event_max_sample_rate') ?? FALLBACK_MAX_SAMPLE_RATE;
  if (wanted === 'max') return highest;
  const frequency = wanted ?? DEFAULT_FREQUENCY_HZ;
  if (frequency <= highest) return frequency;
  // perf lowers its own default without a word, too.
  if (wanted !== undefined) {
    const text = `the kernel allows ${highest} samples per second (kernel.perf_event_max_sample_rate): recording at ${highest} instead of ${frequency}`;
    notes.push({ kind: 'frequency-lowered', text });
  }
  return highest;
}

/** Events by name need the machine's PMUs, which are loaded only for them. */
export async function resolveEvents(
  events: RecordOptions['events'],
  filters: RecordOptions['filters'] = [],
): Promise<ParsedEvent[]> {
  const isFiltered = filters.some((filter) => filter !== null);
  if (isFiltered && (typeof events === 'string' ? 1 : (events?.length ?? 0)) < filters.length)
    throw new CounterpointError('ERR_FILTER', 'there are more filters than events', FILTER_REMEDY);
  if (events === undefined || events.length === 0) return [defaultEvent()];
  const entries = typeof events === 'string' ? [events] : events;
  if (entries.every((entry) => typeof entry !== 'string')) return [...(entries as readonly ParsedEvent[])];
  const [{ parseEvents }, { systemEventLookup }] = await Promise.all([
    import('@counterpoint/core/events'),
    import('../../kernel/local-pmus/index.ts'),
  ]);
  const lookup = withSoftPmus(systemEventLookup());
  const parsed: ParsedEvent[] = [];
  for (const [at, entry] of entries.entries()) {
    if (typeof entry !== 'string') {
      parsed.push(entry);
      continue;
    }
    const groups = parsed.map(({ group }) => group ?? -1);
    const own = parseEvents(entry, lookup, { firstGroup: Math.max(-1, ...groups) + 1 });
    parsed.push(...withFilter(own, entry, filters[at] ?? null, lookup));
  }
  return parsed;
}

const FILTER_REMEDY =
  "Give each filter behind its tracepoint: -e sched:sched_switch --filter 'prev_pid == 1'.";

/** perf's rule: it is the last event's, or that of all that a pattern named. */
function withFilter(
  events: readonly ParsedEvent[],
  text: string,
  filter: string | null,
  lookup: EventLookup,
): ParsedEvent[] {
  if (filter === null) return [...events];
  const from = /[*?]/.test(text) ? 0 : events.length - 1;
  return events.map((event, at) => {
    if (at < from) return event;
    if (traceSourceOf(event) !== null) return { ...event, filter: addressFilters(filter, lookup) };
    if (event.tracepoint === undefined)
      throw new CounterpointError(
        'ERR_FILTER',
        `${event.name} has no fields that a filter could compare: it is no tracepoint`,
        FILTER_REMEDY,
      );
    return { ...event, filter };
  });
}

/** The kernel's limits of call chains, where they are not what readers expect. */
export function chainLimits(
  hasNone: boolean,
  notes: Note[],
  setting: (name: string) => number | null = kernelSetting,
): { maxStack?: number } {
  if (hasNone) return {};
  const parts = setting('perf_event_max_contexts_per_stack');
  if (parts !== null && parts < CHAIN_PARTS) {
    notes.push({
      kind: 'no-callchains',
      text: `kernel.perf_event_max_contexts_per_stack is ${parts}: call chains end after the ${parts === 0 ? 'first address' : 'kernel, without callers in user code'} (usually 8)`,
    });
  }
  const most = setting('perf_event_max_stack');
  if (most === 0) {
    notes.push({
      kind: 'no-callchains',
      text: `kernel.perf_event_max_stack is 0: call chains are empty (usually ${PERF_MAX_STACK_DEPTH})`,
    });
  }
  return most === null || most === 0 || most === PERF_MAX_STACK_DEPTH ? {} : { maxStack: most };
}
