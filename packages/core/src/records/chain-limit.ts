import { PERF_CONTEXT_MAX, PERF_MAX_STACK_DEPTH } from '../abi/index.ts';
import type { PerfEventAttr } from './attr.ts';

/**
 * Beyond what the kernel's own setting can be (kernel.perf_event_max_stack): chains that something else made.
 */
export const NO_CHAIN_LIMIT = 0xffff;

/**
 * How many addresses the kernel puts into a call chain at most: as the event asked, else as kernels have it.
 */
export function chainLimit({ sampleMaxStack }: Pick<PerfEventAttr, 'sampleMaxStack'>): number {
  return sampleMaxStack === 0 ? PERF_MAX_STACK_DEPTH : sampleMaxStack;
}

/** Whether a word of a call chain is one of the markers of its parts (`PERF_CONTEXT_*`), no address. */
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
 * What of a chain is compared with its limit, in addresses. The kernel's own chains have no more than the
 * limit in all; where a program put a part of the kernel and one of the user together, each part has its own.
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
 * Whether a chain of `count` words at `offset` has as many addresses as its limit: it stops there, outermost
 * callers are missing.
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
