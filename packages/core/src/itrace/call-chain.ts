import type { CallStack } from './call-stack.ts';

/** PERF_CONTEXT_KERNEL and PERF_CONTEXT_USER, low halves of negative numbers. */
const CONTEXT_KERNEL = -128;
const CONTEXT_USER = -512;

/**
 * A call chain as perf has it: innermost first, a marker at the start and where it goes from kernel to user. At least the marker
 * and `ip`, at most `mostEntries`, markers counted.
 */
export function walkChain(
  calls: CallStack | null,
  ipLo: number,
  ipHi: number,
  mostEntries: number,
  put: (lo: number, hi: number) => void,
): number {
  let isKernel = ipHi < 0;
  put(isKernel ? CONTEXT_KERNEL : CONTEXT_USER, -1);
  put(ipLo, ipHi);
  let count = 2;
  if (calls === null) return count;
  for (let at = calls.depth - 1; at >= 0 && count < mostEntries; at--) {
    const hi = calls.hi[at]!;
    if (hi < 0 !== isKernel) {
      if (count + 1 >= mostEntries) break;
      isKernel = hi < 0;
      put(isKernel ? CONTEXT_KERNEL : CONTEXT_USER, -1);
      count++;
    }
    put(calls.lo[at]!, hi);
    count++;
  }
  return count;
}
