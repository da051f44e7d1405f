import { PERF_CONTEXT_MAX, PERF_MAX_STACK_DEPTH } from '../abi/index.ts';
import type { PerfEventAttr } from './attr.ts';

/**
 * A limit above the highest value of kernel.perf_event_max_stack. It marks chains
 * that the kernel did not make.
 */
export const NO_CHAIN_LIMIT = 0xffff;

/**
 * The most addresses that the kernel puts into a call chain: the event's own limit,
 * or else the kernel's default.
 */
export function chainLimit({ sampleMaxStack }: Pick<PerfEventAttr, 'sampleMaxStack'>): number {
  return sampleMaxStack === 0 ? PERF_MAX_STACK_DEPTH : sampleMaxStack;
}

/**
 * Whether a word of a call chain is a marker of one of its parts (`PERF_CONTEXT_*`) instead of an address.
 */
export function isChainMarker(view: DataView, at: number, le: boolean): boolean {
  const low = view.getInt32(at + (le ? 0 : 4), le);
  return low < 0 && low >= PERF_CONTEXT_MAX && view.getInt32(at + (le ? 4 : 0), le) === -1;
}

/** How many of a chain's `count` words at `offset` are addresses. */
export function addressesOfChain(view: DataView, offset: number, count: number, le: boolean): number {
  let addresses = 0;
  for (let at = offset; at < offset + count * 8; at += 8) if (!isChainMarker(view, at, le)) addresses++;
  return addresses;
}

/**
 * The number of addresses that is compared with the chain's limit. A chain of the kernel has at most `limit`
 * addresses in all. In a chain that a program joined from a kernel part and a user part, each part has at
 * most that many.
 */
export function limitedLength(
  view: DataView,
  offset: number,
  count: number,
  limit: number,
  le: boolean,
): number {
  let all = 0;
  let part = 0;
  let longest = 0;
  for (let at = offset; at < offset + count * 8; at += 8) {
    if (isChainMarker(view, at, le)) {
      part = 0;
      continue;
    }
    all++;
    part++;
    if (part > longest) longest = part;
  }
  return all <= limit ? all : longest;
}

/**
 * Whether a chain of `count` words at `offset` has as many addresses as its limit. The kernel stopped there,
 * and the outermost callers are missing.
 */
export function isChainAtLimit(
  view: DataView,
  offset: number,
  count: number,
  limit: number,
  le: boolean,
): boolean {
  return count >= limit && limitedLength(view, offset, count, limit, le) >= limit;
}
