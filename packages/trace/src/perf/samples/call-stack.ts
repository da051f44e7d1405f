import {
  PERF_IP_FLAG_ASYNC,
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_RETURN,
  PERF_IP_FLAG_TRACE_BEGIN,
  PERF_IP_FLAG_TRACE_END,
} from '@counterpoint/core/abi';

/** The trace ended with this call: of the kernel, mostly. */
const KIND_AT_END = 1;
/** Not a call of this code: an interrupt came upon it here. */
const KIND_INTERRUPTED = 2;

/** A program may call without end (a stack of real memory would end). */
const MOST_CALLS = 1 << 20;

/**
 * The calls of a thread that have not returned, from its branches. Programs leave functions in other
 * ways, too: a return goes to the innermost call that it fits, and one that fits none (of a call
 * before the trace) changes nothing.
 */
export class CallStack {
  /** Where each call returns to, outermost first; int32 halves. */
  lo = new Int32Array(64);
  hi = new Int32Array(64);
  depth = 0;
  #kinds = new Uint8Array(64);

  /** Take a branch: `from` and `to` are 0 where the trace begins or ends there. */
  branch(
    flags: number,
    fromLo: number,
    fromHi: number,
    toLo: number,
    toHi: number,
    instructionBytes: number,
  ): void {
    const isToKnown = toLo !== 0 || toHi !== 0;
    if ((flags & PERF_IP_FLAG_CALL) !== 0) {
      if (!isToKnown) return;
      const next = (fromLo >>> 0) + instructionBytes;
      const nextHi = next > 0xffff_ffff ? (fromHi + 1) | 0 : fromHi;
      // A call to the next instruction is how code finds its own address.
      if ((next | 0) === toLo && nextHi === toHi) return;
      const atEnd = (flags & PERF_IP_FLAG_TRACE_END) !== 0 ? KIND_AT_END : 0;
      this.#push(next | 0, nextHi, atEnd | ((flags & PERF_IP_FLAG_ASYNC) !== 0 ? KIND_INTERRUPTED : 0));
    } else if ((flags & PERF_IP_FLAG_TRACE_BEGIN) !== 0) {
      // It may have gone on behind a call; a call with which the trace had ended will not return.
      this.#pop(toLo, toHi);
      while (this.depth > 0 && (this.#kinds[this.depth - 1]! & KIND_AT_END) !== 0) this.depth--;
    } else if ((flags & PERF_IP_FLAG_RETURN) !== 0 && isToKnown && (fromLo !== 0 || fromHi !== 0))
      this.#pop(toLo, toHi);
  }

  /** This entry is where an interrupt came, not behind a call. */
  isInterrupted(at: number): boolean {
    return (this.#kinds[at]! & KIND_INTERRUPTED) !== 0;
  }

  clear(): void {
    this.depth = 0;
  }

  #push(lo: number, hi: number, kind: number): void {
    if (this.depth === MOST_CALLS) return;
    if (this.depth === this.lo.length) this.#grow();
    this.lo[this.depth] = lo;
    this.hi[this.depth] = hi;
    this.#kinds[this.depth++] = kind;
  }

  #pop(lo: number, hi: number): void {
    for (let at = this.depth - 1; at >= 0; at--)
      if (this.lo[at] === lo && this.hi[at] === hi) {
        this.depth = at;
        return;
      }
  }

  #grow(): void {
    const size = this.lo.length * 2;
    const lo = new Int32Array(size);
    const hi = new Int32Array(size);
    const kinds = new Uint8Array(size);
    lo.set(this.lo);
    hi.set(this.hi);
    kinds.set(this.#kinds);
    this.lo = lo;
    this.hi = hi;
    this.#kinds = kinds;
  }
}
