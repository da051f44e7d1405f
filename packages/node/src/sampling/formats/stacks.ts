/**
 * Counts by process, address and call stack. The kernel keeps each stack once, in a table by the hash of its addresses:
 *
 *   overflow ─> who called the interrupted address (kernel, user) ─> numbers of two stacks ─┐
 *                                        the address itself, process, event ────────────────┴─> a bucket
 *
 * The interrupted address stands in the bucket and not in the stack: one stack serves all addresses of a function.
 */
import {
  BPF_F_USER_STACK,
  PERF_CONTEXT_KERNEL,
  PERF_CONTEXT_MAX,
  PERF_CONTEXT_USER,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  indexKey,
  type MemoryOperand,
  r0,
  r1,
  r2,
  r6,
  r7,
  r8,
  r9,
  u32,
} from '../../bpf/index.ts';
import { defineFormat, type FormatMaps } from '../format.ts';
import { type BucketCounts, bucketMap, countOverflow, takeBuckets } from './buckets.ts';

/** Stacks by number, or a negative error number where there is none. */
const Key = bpfStruct({ address: 'u64', pid: 'u32', event: 'u32', kernelStack: 'i32', userStack: 'i32' });

const EFAULT = 14;
/** In a chain of the kernel, PERF_CONTEXT_KERNEL or _USER begins each part; the address itself is next. */
const MARK = 1;
const MARK_AND_ADDRESS = 2;
/** A chain has room for the marks of its two parts beside its frames. */
const MARKS = 2;

/**
 * By the hash's low bits a stack has one place in the table, and what finds it taken gets a place in the second table: with
 * k stacks in n places about k/2n of them collide in the first, (k/n)²/6 in both.
 */
const TABLES = ['stacks', 'more_stacks'] as const;
/** Added to numbers of the second table. */
const SECOND_TABLE = 1 << 28;

const stackTable = (name: string, { maxStacks, depth }: Options): BpfMapDefinition => ({
  name,
  type: 'stack-trace',
  keySizeBytes: 4,
  valueSizeBytes: depth * 8,
  maxEntries: 2 ** Math.ceil(Math.log2(maxStacks)),
});

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

interface Options {
  readonly maxEntries: number;
  readonly maxStacks: number;
  readonly depth: number;
  readonly keep: number;
}

export default defineFormat({
  name: 'stacks',
  version: 1,
  summary: 'counts by process, address and call stack, added up in the kernel',
  options: {
    maxEntries: {
      type: 'count',
      default: 65_536,
      min: 1,
      max: 1 << 24,
      help: 'pairs of an address and its stacks that there is room for',
    },
    maxStacks: {
      type: 'count',
      default: 16_384,
      min: 1,
      max: 1 << 24,
      help: 'different stacks that there is room for, twice; a stack takes 8 bytes a frame of its depth',
    },
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
    const maps = [bucketMap(Key, options.maxEntries), ...TABLES.map((name) => stackTable(name, options))];
    return { maps, callchains: { mostFrames: options.depth - MARKS } };
  },
  onOverflow(asm, { event, options, countLoss, attr }) {
    if (options.keep > 0) keepSome(asm, options.keep);
    const key = asm.stack('key', Key);
    const { kernelStack, userStack } = key.fields;
    asm.loadContext(r2, 'ip');
    asm.store(key.fields.address, r2);
    asm.loadProcessId(r0);
    asm.store(key.fields.pid, r0);
    asm.store(key.fields.event, event);
    asm.loadContext(r7, 'samplePeriod');
    asm.loadIsUserMode(r8);
    asm.move(r9, 0);
    const find = (to: MemoryOperand, flags: number) => findStack(asm, options, to, flags);
    asm.if(
      r8,
      '!=',
      0,
      () => {
        asm.store(kernelStack, -EFAULT);
        find(userStack, BPF_F_USER_STACK | MARK_AND_ADDRESS);
      },
      () => {
        // Without its kernel part a chain begins with the call of the kernel.
        if (attr.flags.excludeCallchainKernel === 1) asm.store(kernelStack, -EFAULT);
        else find(kernelStack, MARK_AND_ADDRESS);
        find(userStack, BPF_F_USER_STACK | MARK);
      },
    );
    asm.if(r9, '!=', 0, () => countLoss('stack-collision'));
    countOverflow(asm, bucketMap(Key, options.maxEntries), key, r7, countLoss);
  },
  async *collect(maps, { cpus, events, next, nowNs }): AsyncGenerator<StackBucket> {
    while ((await next()) !== 'stopped');
    const timeNs = nowNs();
    const chains = new ChainReader(maps);
    for (const { key, counts } of takeBuckets(maps.get('buckets')!, Key, cpus)) {
      const hasKernel = events[key.event]!.attr.flags.excludeCallchainKernel !== 1;
      const callchain = chains.read(key, hasKernel);
      const { event, pid, address } = key;
      for (const one of counts) yield { event, pid, address, callchain, ...one, timeNs };
    }
  },
  *toSamples({ event, pid, address, callchain, cpu, period, timeNs }) {
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

/** The number of the stack, or an error number: no such stack (EFAULT), or no place for it (EEXIST, ENOMEM; r9 is 1 then). */
function findStack(asm: BpfAssembler, options: Options, to: MemoryOperand, flags: number): void {
  const [first, second] = TABLES.map((name) => stackTable(name, options));
  asm.call('get_stackid', r6, first!, flags);
  asm.store(to, r0);
  asm.if(r0, 's<', 0, () =>
    asm.if(r0, '!=', -EFAULT, () => {
      asm.call('get_stackid', r6, second!, flags);
      const found = () => {
        asm.add(r0, SECOND_TABLE);
        asm.store(to, r0);
      };
      asm.if(r0, 's>=', 0, found, () => asm.move(r9, 1));
    }),
  );
}

/** Stacks by number become chains. Each is read once. */
class ChainReader {
  readonly #tables: readonly BpfMap[];
  readonly #known = new Map<number, readonly bigint[]>();

  constructor(maps: FormatMaps) {
    this.#tables = TABLES.map((name) => maps.get(name)!);
  }

  read(
    { address, kernelStack, userStack }: ReturnType<(typeof Key)['read']>,
    hasKernel: boolean,
  ): readonly bigint[] {
    const isKernel = BigInt.asIntN(64, address) < 0n;
    const callers = this.#frames(userStack);
    if (!isKernel) return [mark(PERF_CONTEXT_USER), address, ...callers];
    const user = callers.length === 0 ? [] : [mark(PERF_CONTEXT_USER), ...callers];
    return hasKernel ? [mark(PERF_CONTEXT_KERNEL), address, ...this.#frames(kernelStack), ...user] : user;
  }

  #frames(stack: number): readonly bigint[] {
    if (stack < 0) return [];
    const known = this.#known.get(stack);
    if (known !== undefined) return known;
    const table = this.#tables[stack < SECOND_TABLE ? 0 : 1]!;
    const value = table.lookup(indexKey(stack % SECOND_TABLE));
    const frames: bigint[] = [];
    if (value !== null)
      for (const word of new BigUint64Array(value.buffer)) {
        if (word === 0n) break;
        if (word < BigInt.asUintN(64, BigInt(PERF_CONTEXT_MAX))) frames.push(word);
      }
    this.#known.set(stack, frames);
    return frames;
  }
}

function mark(context: number): bigint {
  return BigInt.asUintN(64, BigInt(context));
}
