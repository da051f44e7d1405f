import type { CallStack } from './call-stack.ts';

/** PERF_CONTEXT_KERNEL and PERF_CONTEXT_USER, low halves of negative numbers. */
const CONTEXT_KERNEL = -128;
const CONTEXT_USER = -512;

/** The marker before addresses of this half of memory, low half of a negative number. */
function contextOf(hi: number): number {
  return hi < 0 ? CONTEXT_KERNEL : CONTEXT_USER;
}

/**
 * A call chain as perf has it: innermost first, a marker at the start and where it goes from kernel to user.
 * At least the marker and `ip`, at most `mostEntries`, markers counted.
 */
export function walkChain(
  calls: CallStack | null,
  ipLo: number,
  ipHi: number,
  mostEntries: number,
  put: (lo: number, hi: number) => void,
): number {
  return walkFrom(calls, (calls?.depth ?? 0) - 1, ipLo, ipHi, mostEntries, put);
}

/**
 * The chain of a sample that was written down after it was taken: calls of the kernel since then are left
 * out, and the interrupt that led there, which is no call of the code that it came upon. (perf leaves out the
 * sample's own place, too, where only user code is traced.)
 *
 *   calls   main | f | interrupted at f+8 | handler        sample at f+4
 *   chain   f+4  | f | main
 */
export function walkLateChain(
  calls: CallStack,
  ipLo: number,
  ipHi: number,
  mostEntries: number,
  put: (lo: number, hi: number) => void,
): number {
  let at = calls.depth - 1;
  const isHere = (): boolean => calls.hi[at] === ipHi && calls.lo[at] === ipLo;
  while (at >= 0 && calls.hi[at]! < 0 && !isHere()) at--;
  if (at >= 0 && (isHere() || calls.isInterrupted(at))) at--;
  return walkFrom(calls, at, ipLo, ipHi, mostEntries, put);
}

/** `ip`, then the calls from one inwards to outwards. */
function walkFrom(
  calls: CallStack | null,
  innermost: number,
  ipLo: number,
  ipHi: number,
  mostEntries: number,
  put: (lo: number, hi: number) => void,
): number {
  let context = contextOf(ipHi);
  put(context, -1);
  put(ipLo, ipHi);
  let count = 2;
  if (calls === null) return count;
  for (let at = innermost; at >= 0 && count < mostEntries; at--) {
    const hi = calls.hi[at]!;
    if (contextOf(hi) !== context) {
      if (count + 1 >= mostEntries) break;
      context = contextOf(hi);
      put(context, -1);
      count++;
    }
    put(calls.lo[at]!, hi);
    count++;
  }
  return count;
}
