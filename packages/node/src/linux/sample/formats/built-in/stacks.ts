/**
 * Counts by process, address and call stack:
 *
 *   overflow ─> its call chain, kept once (chain-store.ts) ─> hash ─┐
 *                           the address itself, process, event ─────┴─> a bucket (count-table.ts)
 *
 * The interrupted address stands in the bucket: one chain serves all addresses of a function.
 */
import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { PerfEventAttr } from '@counterpoint/core/records';
import { bpfStruct, r0, r1, r2 } from '../../../kernel/bpf/index.ts';
import { everyNth, runCounts } from '../every-nth.ts';
import { defineFormat } from '../format.ts';
import { MARKS } from './call-chain.ts';
import { ChainReader, ChainStore, chainStoreMaps, chainStoreShape } from './chain-store.ts';
import { countOverflow, countsAt, placesIn, type TakenTable, tableMaps, tableShape } from './count-table.ts';
import { requireStackDepth } from './stack-depth.ts';
import { TableReader } from './table-reader.ts';
import { canWalk } from './user-frames.ts';

const Key = bpfStruct({ address: 'u64', pid: 'u32', event: 'u32', chain: 'u64' });
const COUNTS = countsAt(Key);

/** In place of samples is where the chain is. */
const ROW = { ...placesIn(Key), chain: COUNTS.samples, period: COUNTS.period } as const;

/** Counts of one CPU, by process, address and call chain. */
export interface StackTable extends TakenTable {
  readonly chains: Uint32Array;
  readonly timeNs: bigint;
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
      help: 'room for N pairs of an address and its stack, 52 bytes each, twice, on each CPU',
    },
    maxStacks: {
      type: 'count',
      default: 0,
      max: 1 << 20,
      help: 'room for N different call stacks, 256 bytes each on average, twice, on each CPU;\n0: 32,768, or fewer if all CPUs together would need more than 128 MB',
    },
    depth: {
      type: 'count',
      default: 127,
      min: 3,
      max: 1024,
      help: 'at most N frames of a stack; outer frames are cut off',
    },
    interval: {
      type: 'duration',
      default: 0,
      help: 'also empty the counts at this interval, so that they tell when; 0: only when they are full and at the end',
    },
    keep: {
      type: 'count',
      default: 0,
      help: "keep the kernel's whole record instead of a count at every Nth overflow of a CPU; 0: never",
    },
  },
  history: { interval: 1000, maxEntries: 4096, maxStacks: 1024 },
  plan(options, { events }) {
    const tracepoint = events.find(({ attr }) => attr.type === PERF_TYPE_TRACEPOINT);
    if (tracepoint !== undefined)
      throw new CounterpointError(
        'ERR_FORMAT_EVENT',
        `the format stacks has no interrupted address at the tracepoint ${tracepoint.name}`,
        'Use stacks with a clock or a counter; sample a tracepoint with -g.',
      );
    const { maxEntries, maxStacks, depth, keep } = options;
    requireStackDepth('stacks', { depth, frames: depth });
    const maps = [
      ...tableMaps(tableShape(Key, maxEntries)),
      ...chainStoreMaps(chainStoreShape(maxStacks, depth + MARKS)),
    ];
    // A record that is kept has the kernel's own chain, and what is found already need not be found again.
    const isFoundByHandler = (attr: PerfEventAttr) => keep === 0 && canWalk(attr, depth);
    return { maps, callchains: { mostFrames: depth, isFoundByHandler } };
  },
  onOverflow(asm, context) {
    const { event, options, attr, isChainFoundByHandler } = context;
    // In place of a count.
    if (options.keep > 0) everyNth(asm, runCounts('since_kept', 1), 0, options.keep, () => asm.keepRecord());
    const key = asm.stack('key', Key);
    const isUserMode = asm.stack('is user mode', 8);
    asm.loadContext(r2, 'ip');
    asm.store(key.fields.address, r2);
    asm.loadProcessId(r0);
    asm.store(key.fields.pid, r0);
    asm.store(key.fields.event, event);
    asm.loadIsUserMode(r1);
    asm.store(isUserMode, r1);
    const parts = {
      isUserMode,
      hasKernelPart: attr.flags.excludeCallchainKernel !== 1,
      isFoundByKernel: !isChainFoundByHandler,
    };
    const shape = chainStoreShape(options.maxStacks, options.depth + MARKS);
    const chain = new ChainStore(asm, shape, parts, key.fields.chain, context);
    countOverflow(asm, tableShape(Key, options.maxEntries), key, context, {
      complete: (half) => chain.hash(half),
      mark: () => chain.mark(),
      again: () => chain.again(),
    });
  },
  async *collect(maps, { options, next, nowNs }): AsyncGenerator<StackTable> {
    using tables = new TableReader(maps, tableShape(Key, options.maxEntries));
    using chains = new ChainReader(maps, chainStoreShape(options.maxStacks, options.depth + MARKS));
    for (let isLast = false; !isLast; ) {
      const wake = await next(options.interval === 0 ? undefined : options.interval);
      if (wake === 'interval') tables.requestSwaps();
      isLast = wake === 'stopped';
      const timeNs = nowNs();
      for (const table of tables.take(isLast || wake === 'paused')) {
        yield { ...table, chains: chains.take(table.half), timeNs };
        chains.empty(table.half);
      }
    }
  },
  toRows: (table) => ({ ...table, at: ROW }),
});
