/**
 * Counts by process, address and call stack. The kernel keeps each stack once, in a table by the hash of its addresses:
 *
 *   overflow ─> who called the interrupted address (kernel, user) ─> numbers of two stacks ─┐
 *                                        the address itself, process, event ────────────────┴─> a bucket
 *
 * The interrupted address stands in the bucket and not in the stack: one stack serves all addresses of a function.
 */
import { BPF_F_USER_STACK, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  type BpfAssembler,
  type BpfMapDefinition,
  bpfStruct,
  type MemoryOperand,
  r0,
  r1,
  r2,
  r8,
  r9,
  u32,
} from '../../bpf/index.ts';
import { defineFormat } from '../format.ts';
import type { BucketCounts } from './buckets.ts';
import { countOverflow, TableReader, tableMaps, tableShape } from './count-table.ts';
import {
  callchainOf,
  findStack,
  MAX_STACKS_OPTION,
  NO_STACK,
  StackReader,
  stackTables,
} from './stack-tables.ts';

/** Stacks by number, or a negative error number where there is none. */
const Key = bpfStruct({ address: 'u64', pid: 'u32', event: 'u32', kernelStack: 'i32', userStack: 'i32' });

/** In a chain of the kernel, PERF_CONTEXT_KERNEL or _USER begins each part; the address itself is next. */
const MARK = 1;
const MARK_AND_ADDRESS = 2;
/** A chain has room for the marks of its two parts beside its frames. */
const MARKS = 2;

/** Kernel addresses have the highest bit. */
const MOST_USER_ADDRESS = 2n ** 63n - 1n;

/** Overflows since the last one whose record was kept. */
const SINCE_KEPT: BpfMapDefinition = {
  name: 'since_kept',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 4,
  maxEntries: 1,
};

/** Counts of one process at one address with one call stack, of one CPU. */
export interface StackBucket extends BucketCounts {
  readonly event: number;
  readonly pid: number;
  readonly address: bigint;
  /** Innermost first, with the kernel's marks. */
  readonly callchain: readonly bigint[];
  readonly timeNs: bigint;
}

export default defineFormat({
  name: 'stacks',
  version: 1,
  summary: 'counts by process, address and call stack, added up in the kernel',
  options: {
    maxEntries: {
      type: 'count',
      default: 32_768,
      min: 1,
      max: 1 << 24,
      help: 'pairs of an address and its stacks that there is room for on each CPU, twice, of 40 bytes',
    },
    maxStacks: MAX_STACKS_OPTION,
    depth: {
      type: 'count',
      default: 127,
      min: 3,
      max: 1024,
      help: 'frames of a stack, the outer ones are cut off',
    },
    keep: {
      type: 'count',
      default: 0,
      help: "each so many overflows of a CPU the kernel's own record is kept, whole, in place of a count; 0: never",
    },
  },
  plan(options, { events }) {
    const tracepoint = events.find(({ attr }) => attr.type === PERF_TYPE_TRACEPOINT);
    if (tracepoint !== undefined)
      throw new CounterpointError(
        'ERR_FORMAT_EVENT',
        `the format stacks has no interrupted address at the tracepoint ${tracepoint.name}`,
        'Sample a clock or a counter with it; a tracepoint with -g.',
      );
    const maps = [...tableMaps(tableShape(Key, options.maxEntries)), ...stackTables(options)];
    return { maps, callchains: { mostFrames: options.depth - MARKS } };
  },
  onOverflow(asm, context) {
    const { event, options, countLoss, attr } = context;
    if (options.keep > 0) keepSome(asm, options.keep);
    const key = asm.stack('key', Key);
    const { kernelStack, userStack } = key.fields;
    asm.loadContext(r2, 'ip');
    asm.store(key.fields.address, r2);
    asm.loadProcessId(r0);
    asm.store(key.fields.pid, r0);
    asm.store(key.fields.event, event);
    asm.loadIsUserMode(r8);
    asm.move(r9, 0);
    const find = (to: MemoryOperand, flags: number) =>
      findStack(asm, options, to, flags, () => asm.move(r9, 1));
    asm.if(
      r8,
      '!=',
      0,
      () => {
        asm.store(kernelStack, NO_STACK);
        find(userStack, BPF_F_USER_STACK | MARK_AND_ADDRESS);
      },
      () => {
        // Without its kernel part a chain begins with the call of the kernel.
        if (attr.flags.excludeCallchainKernel === 1) asm.store(kernelStack, NO_STACK);
        else find(kernelStack, MARK_AND_ADDRESS);
        find(userStack, BPF_F_USER_STACK | MARK);
      },
    );
    asm.if(r9, '!=', 0, () => countLoss('stack-collision'));
    countOverflow(asm, tableShape(Key, options.maxEntries), key, context);
  },
  async *collect(maps, { options, events, next, nowNs }): AsyncGenerator<readonly StackBucket[]> {
    using tables = new TableReader(maps, tableShape(Key, options.maxEntries));
    const stacks = new StackReader(maps);
    for (let isLast = false; !isLast; ) {
      isLast = (await next()) === 'stopped';
      const timeNs = nowNs();
      yield* tables.take(isLast, (view, key, { cpu, samples, period }) => {
        const address = view.getBigUint64(key + Key.fields.address.offsetBytes, true);
        const event = view.getUint32(key + Key.fields.event.offsetBytes, true);
        const kernelStack = view.getInt32(key + Key.fields.kernelStack.offsetBytes, true);
        const userStack = view.getInt32(key + Key.fields.userStack.offsetBytes, true);
        const hasKernel = events[event]!.attr.flags.excludeCallchainKernel !== 1;
        return {
          event,
          pid: view.getUint32(key + Key.fields.pid.offsetBytes, true),
          address,
          callchain: chainOf(stacks, address, kernelStack, userStack, hasKernel),
          cpu,
          samples,
          period,
          timeNs,
        };
      });
    }
  },
  *toSamples(buckets) {
    for (const { event, pid, address, callchain, cpu, period, timeNs } of buckets)
      yield { event, ip: address, pid, tid: pid, cpu, timeNs, period, callchain };
  },
});

/** Keep the kernel's own record, and count nothing, at each `count`-th overflow on a CPU. */
function keepSome(asm: BpfAssembler, count: number): void {
  asm.mapLookup(SINCE_KEPT, 0);
  asm.ifNotNull(r0, () => {
    const since = u32(r0);
    asm.load(r1, since);
    asm.add(r1, 1);
    asm.if(r1, '>=', count, () => {
      asm.store(since, 0);
      asm.keepRecord();
    });
    asm.store(since, r1);
  });
}

/** The chain of a bucket: the address, and who called it. */
function chainOf(
  stacks: StackReader,
  address: bigint,
  kernelStack: number,
  userStack: number,
  hasKernel: boolean,
): readonly bigint[] {
  const callers = stacks.frames(userStack);
  if (address <= MOST_USER_ADDRESS) return callchainOf([], [address, ...callers]);
  return callchainOf(hasKernel ? [address, ...stacks.frames(kernelStack)] : [], callers);
}
