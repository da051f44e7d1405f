/**
 * Where threads are when they do not run: the time between leaving a CPU and
 * entering one again, by call stack.
 *
 *   sched:sched_switch   the thread that leaves   left[thread] = now, its state, its stacks
 *                        the one that enters      times[process, thread, state, stacks] += now - left[thread]
 *
 * perf's `record --off-cpu` (6.1) does the same, but has the user stack only, and leaves out threads that
 * were ready to run: `ready=no,kernel-stacks=no` is its meaning. It loses what has not ended when the
 * recording does; here that counts, too. Of each thread's time counts what is between enabling and stopping,
 * so that with the time on the CPU it is the time that passed.
 */
import { BPF_F_USER_STACK } from '@counterpoint/core/abi';
import {
  type BpfAssembler,
  type BpfBatch,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  indexKey,
  r0,
  r1,
  r2,
  r7,
  r8,
  r9,
  type StructSlot,
  u64,
  w1,
  w7,
} from '../../../kernel/bpf/index.ts';
import { SysError } from '../../../kernel/sys/index.ts';
import { defineFormat, type FormatEvent, type ProgramContext } from '../format.ts';
import { type AsleepThread, asleepThreads, isStillAsleep } from './asleep-threads.ts';
import { Bucket, bucketMap, takeBuckets } from './buckets.ts';
import { requireStackDepth } from './stack-depth.ts';
import {
  callchainOf,
  findStack,
  MAX_STACKS_OPTION,
  NO_STACK,
  StackReader,
  stackTables,
} from './stack-tables.ts';

/** Instead of the number of a stack: the thread was off the CPU before anybody looked. */
const BEFORE = -1;

/**
 * Whose time, and where it passed. Stacks by number, or a negative error number if there is none: read as
 * signed here, since programs load with a sign only from Linux 6.6.
 */
const KEY = { pid: 'u32', tid: 'u32', state: 'u32', kernelStack: 'u32', userStack: 'u32' } as const;
const Key = bpfStruct(KEY);
type KeySlot = StructSlot<typeof KEY>;
/** A thread off the CPU. */
const Left = bpfStruct({ sinceNs: 'u64', ...KEY, unused: 'u32' });

/**
 * States as the tracepoint has them: the flags of include/linux/sched.h, TASK_REPORT, and one above them for
 * who was preempted; 0 is ready to run, too.
 */
const INTERRUPTIBLE = 0x1;
const UNINTERRUPTIBLE = 0x2;
const DEAD = 0x10 | 0x20;
const PREEMPTED = 0x100;
const STOPPED = 0x4;
/** The same as /proc has them. */
const LETTERS: Readonly<Record<string, number>> = { S: INTERRUPTIBLE, D: UNINTERRUPTIBLE };

const STATES: Readonly<Record<number, string>> = {
  0: 'ready',
  [PREEMPTED]: 'ready',
  [INTERRUPTIBLE]: 'sleeping',
  [UNINTERRUPTIBLE]: 'waiting uninterruptibly',
};

/** Time of one thread in one place: what came to its end, or what was still going on. */
export interface OffCpuTime {
  readonly kind: 'time';
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  readonly state: number;
  readonly callchain: readonly bigint[];
  readonly durationNs: bigint;
  readonly times: bigint;
  readonly timeNs: bigint;
}

export interface OffCpuSummary {
  readonly kind: 'summary';
  /** Nanoseconds by state in words. */
  readonly byState: ReadonlyMap<string, bigint>;
  /** Of them, of threads that were still off the CPU at the end. */
  readonly unfinishedNs: bigint;
  readonly unfinished: number;
}

interface Options {
  readonly maxEntries: number;
  readonly maxThreads: number;
  readonly maxStacks: number;
  readonly depth: number;
  readonly ready: boolean;
  readonly kernelStacks: boolean;
  readonly kernelThreads: boolean;
}

/**
 * Which parts of call chains its samples have: as of the recording's others, by
 * --user-callchains and its like.
 */
interface Parts {
  readonly hasKernel: boolean;
  readonly hasUser: boolean;
}

function partsOf({ kernelStacks }: Pick<Options, 'kernelStacks'>, events: readonly FormatEvent[]): Parts {
  const { flags } = events[0]!.attr;
  return {
    hasKernel: kernelStacks && flags.excludeCallchainKernel === 0 && flags.excludeKernel === 0,
    hasUser: flags.excludeCallchainUser === 0 && flags.excludeUser === 0,
  };
}

const leftMap = ({ maxThreads }: Options): BpfMapDefinition => ({
  name: 'left',
  type: 'hash',
  keySizeBytes: 4,
  valueSizeBytes: Left.sizeBytes,
  maxEntries: maxThreads,
});

/**
 * In a pid namespace: threads that slept from the beginning and have not left a CPU
 * since, by their numbers there.
 */
const asleepMap = (options: Options): BpfMapDefinition => ({ ...leftMap(options), name: 'asleep' });
/** When each CPU switched last, nanoseconds: since then its thread runs. */
const SWITCHED: BpfMapDefinition = {
  name: 'switched',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 1,
};

export default defineFormat({
  name: 'off-cpu',
  version: 1,
  summary: 'time off the CPU by thread and call stack, added up in the kernel',
  options: {
    maxEntries: {
      type: 'count',
      default: 65_536,
      min: 1,
      max: 1 << 24,
      help: 'room for N pairs of a thread and its stacks',
    },
    maxThreads: {
      type: 'count',
      default: 65_536,
      min: 1,
      max: 1 << 22,
      help: 'room for N threads off the CPU at a time',
    },
    maxStacks: MAX_STACKS_OPTION,
    depth: {
      type: 'count',
      default: 127,
      min: 1,
      max: 127,
      help: 'at most N frames of a stack; outer frames are cut off',
    },
    ready: { type: 'switch', default: true, help: 'also count time in which threads are ready to run' },
    kernelStacks: { type: 'switch', default: true, help: 'record the kernel part of stacks' },
    kernelThreads: { type: 'switch', default: false, help: 'also record threads of the kernel' },
  },
  ownEvents: [{ name: 'offcpu-time', callchains: true }],
  plan(options, { events }) {
    requireStackDepth('off-cpu', options);
    return {
      callchains: { mostFrames: options.depth },
      // Of the programs' maps those that `collect` reads, whatever a program refers to.
      maps: [bucketMap(Key, options.maxEntries), leftMap(options), ...stackTables(options)],
      programs: [
        {
          name: 'off_cpu_switch',
          attach: { kind: 'tracepoint', system: 'sched', name: 'sched_switch' },
          assemble(asm, context) {
            asm.call('ktime_get_ns');
            asm.move(r8, r0);
            context.onlyBeforeEnd();
            const key = asm.stack('key', Key);
            if (asm.pidNamespace !== null) writeFirstLeave(asm, context, options, key);
            writeEnter(asm, context, options, key);
            writeLeave(asm, context, options, partsOf(options, events));
          },
        },
      ],
    };
  },
  async *collect(
    maps,
    { cpus, target, options, next, nowNs, recordedTime, countLoss },
  ): AsyncGenerator<OffCpuTime | OffCpuSummary> {
    const left = maps.get('left')!;
    // In a pid namespace these threads are known by our numbers, all others by the kernel's.
    const asleep = maps.get(asleepMap(options).name) ?? left;
    const userIps = new Map<number, bigint>();
    const sleepers: AsleepThread[] = [];
    for (const thread of asleepThreads(target, options.kernelThreads)) {
      if (!options.ready && !/[SD]/.test(thread.state)) continue;
      if (thread.userIp !== null) userIps.set(thread.tid, thread.userIp);
      if (!putIn(asleep, thread, nowNs())) countLoss('map-full', 1);
      // It may have run in between, and may run for ever.
      if (!isStillAsleep(thread)) asleep.delete(indexKey(thread.tid));
      else if (asleep !== left) sleepers.push(thread);
    }
    while ((await next()) !== 'stopped');
    const { beginNs, endNs } = recordedTime() ?? { beginNs: 0n, endNs: 0n };
    // These run since they have woken up: nobody knows for how long.
    for (const thread of sleepers) if (!isStillAsleep(thread)) asleep.delete(indexKey(thread.tid));
    const stacks = new StackReader(maps);
    const { hasUser } = partsOf(options, target.events);
    const userFrames = (tid: number, stack: number) => {
      if (stack !== BEFORE) return stacks.frames(stack);
      const ip = userIps.get(tid);
      return ip === undefined || !hasUser ? [] : [ip];
    };
    const byState = new Map<string, bigint>();
    let unfinished = 0;
    let unfinishedNs = 0n;
    const timeOf = (
      { pid, tid, state, kernelStack, userStack }: ReturnType<(typeof Key)['read']>,
      cpu: number,
      durationNs: bigint,
      times: bigint,
    ): OffCpuTime => {
      const callchain = callchainOf(stacks.frames(kernelStack | 0), userFrames(tid, userStack | 0));
      const words = STATES[state] ?? 'stopped';
      byState.set(words, (byState.get(words) ?? 0n) + durationNs);
      return { kind: 'time', pid, tid, cpu, state, callchain, durationNs, times, timeNs: endNs };
    };
    for (const taken of takeBuckets(maps.get('buckets')!, Key, cpus))
      for (const { key, counts } of taken) yield timeOf(key, counts.cpu, counts.period, counts.samples);
    for (const { count, values } of stillOff(left, asleep))
      for (let index = 0; index < count; index++) {
        const { sinceNs, ...thread } = Left.read(values, index * Left.sizeBytes);
        const durationNs = endNs - (sinceNs < beginNs ? beginNs : sinceNs);
        if (durationNs <= 0n) continue;
        unfinished++;
        unfinishedNs += durationNs;
        yield timeOf(thread, cpus[0]!, durationNs, 1n);
      }
    yield { kind: 'summary', byState, unfinished, unfinishedNs };
  },
  *toSamples(result) {
    if (result.kind === 'summary') return;
    const { pid, tid, cpu, timeNs, durationNs: period, callchain } = result;
    // After the mark of the first part.
    yield { event: 0, ip: callchain[1] ?? 0n, pid, tid, cpu, timeNs, period, callchain };
  },
  *describe(result) {
    if (result.kind === 'time') return;
    const parts = [...result.byState].map(([words, ns]) => `${words} ${seconds(ns)}`);
    if (parts.length > 0) yield `time off the CPU: ${parts.join(', ')}`;
    if (result.unfinished > 0)
      yield `${seconds(result.unfinishedNs)} of this is from ${threads(result.unfinished)} still off the CPU at the end`;
  },
});

/** The thread that comes: its time is over. Whoever was put in is of the target. */
function writeEnter(asm: BpfAssembler, context: ProgramContext, options: Options, key: KeySlot): void {
  const left = leftMap(options);
  asm.loadContext(w7, 'next_pid');
  asm.mapLookup(left, r7);
  asm.ifNotNull(r0, () => {
    asm.move(r9, r8);
    subtractSince(asm, context);
    takeOut(asm, left, key);
    // Below zero: it comes before the recording begins.
    asm.if(r9, 's>', 0, () => addTime(asm, context, options, key));
  });
}

/**
 * In a pid namespace the tracepoint's numbers are not those that /proc has. A thread that slept from the
 * beginning is known when it leaves for the first time: it is still the current one, whose number the kernel
 * tells, and has run since its CPU's last switch.
 */
function writeFirstLeave(asm: BpfAssembler, context: ProgramContext, options: Options, key: KeySlot): void {
  const asleep = asleepMap(options);
  asm.mapLookup(SWITCHED, 0);
  asm.ifNull(r0, () => asm.keepRecord());
  asm.load(r9, u64(r0));
  asm.store(u64(r0), r8);
  asm.loadThreadId(r7);
  asm.mapLookup(asleep, r7);
  asm.ifNotNull(r0, () => {
    subtractSince(asm, context);
    takeOut(asm, asleep, key);
    // Else it ran already when it was put in, or came before the recording begins.
    asm.if(r9, 's>', 0, () => addTime(asm, context, options, key));
  });
}

/**
 * r9 less the time since when the thread of r0 was away; what was before the recording
 * does not count. Loses r1 and r2.
 */
function subtractSince(asm: BpfAssembler, { loadBeginNs }: ProgramContext): void {
  asm.load(r1, Left.at(r0).sinceNs);
  loadBeginNs(r2);
  asm.if(r1, '<', r2, () => asm.move(r1, r2));
  asm.subtract(r9, r1);
}

/** r0 is the thread's value, r7 its number. */
function takeOut(asm: BpfAssembler, map: BpfMapDefinition, { fields }: KeySlot): void {
  const value = Left.at(r0);
  for (const name of Object.keys(KEY) as (keyof typeof KEY)[]) {
    asm.load(r1, value[name]);
    asm.store(fields[name], r1);
  }
  asm.mapDelete(map, r7);
}

/** r9 nanoseconds under a key. */
function addTime(
  asm: BpfAssembler,
  { countLoss }: ProgramContext,
  { maxEntries }: Options,
  key: KeySlot,
): void {
  asm.addToMap(bucketMap(Key, maxEntries), key, Bucket, { samples: 1, period: r9 }, () =>
    countLoss('map-full'),
  );
}

/**
 * The thread that goes, which is still the current one. Who is dead does not come back, and
 * no CPU waits for an idle one.
 */
function writeLeave(
  asm: BpfAssembler,
  context: ProgramContext,
  options: Options,
  { hasKernel, hasUser }: Parts,
): void {
  const value = asm.stack('left', Left);
  const { fields } = value;
  const end = () => asm.keepRecord();
  const refused = () => context.countLoss('stack-collision');
  asm.loadContext(w7, 'prev_pid');
  asm.if(r7, '==', 0, end);
  asm.loadContext(r9, 'prev_state');
  asm.if(r9, '&', DEAD, end);
  if (!options.ready) asm.if(r9, '&', INTERRUPTIBLE | UNINTERRUPTIBLE, () => {}, end);
  context.onlyTarget();
  findStack(asm, options, fields.userStack, BPF_F_USER_STACK, refused);
  if (!options.kernelThreads) {
    asm.load(r1, fields.userStack);
    asm.if(w1, '==', NO_STACK, end);
  }
  if (hasKernel) findStack(asm, options, fields.kernelStack, 0, refused);
  else asm.store(fields.kernelStack, NO_STACK);
  if (!hasUser) asm.store(fields.userStack, NO_STACK);
  asm.store(fields.sinceNs, r8);
  asm.store(fields.state, r9);
  if (asm.pidNamespace === null) asm.store(fields.tid, r7);
  else {
    // r7 is the kernel's number, by which the next switch to it names it, too.
    asm.loadThreadId(r0);
    asm.store(fields.tid, r0);
  }
  asm.loadProcessId(r0);
  asm.store(fields.pid, r0);
  asm.store(fields.unused, 0);
  asm.mapUpdate(leftMap(options), r7, value);
  asm.if(r0, '!=', 0, () => context.countLoss('map-full'));
}

/** Threads that are off the CPU at the end. */
function* stillOff(left: BpfMap, asleep: BpfMap): Generator<BpfBatch> {
  yield* left.batches();
  if (asleep !== left) yield* asleep.batches();
}

/** False where there is no room. One that has left by itself meanwhile is there already, with its stacks. */
function putIn(left: BpfMap, { pid, tid, state }: AsleepThread, nowNs: bigint): boolean {
  const bytes = new Uint8Array(Left.sizeBytes);
  const view = new DataView(bytes.buffer);
  const { sinceNs, pid: pidField, tid: tidField, state: stateField, kernelStack, userStack } = Left.fields;
  view.setBigUint64(sinceNs.offsetBytes, nowNs, true);
  view.setUint32(pidField.offsetBytes, pid, true);
  view.setUint32(tidField.offsetBytes, tid, true);
  view.setUint32(stateField.offsetBytes, LETTERS[state] ?? STOPPED, true);
  view.setInt32(kernelStack.offsetBytes, BEFORE, true);
  view.setInt32(userStack.offsetBytes, BEFORE, true);
  try {
    left.insert(indexKey(tid), bytes);
    return true;
  } catch (error) {
    if (error instanceof SysError && error.code === 'E2BIG') return false;
    throw error;
  }
}

function threads(count: number): string {
  return count === 1 ? '1 thread that was' : `${count} threads that were`;
}

function seconds(ns: bigint): string {
  return `${(Number(ns) / 1e9).toFixed(3)} s`;
}
