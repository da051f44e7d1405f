/**
 * What a branch is, as perf's PERF_IP_FLAG_* say it (tools/perf/util/event.h). The order of the bits is that
 * of the letters that perf prints for them, `bcrosyiABExghDt`.
 */

/** `b`: a branch of any kind; the other flags say which. */
export const PERF_IP_FLAG_BRANCH = 1 << 0;
/** `c`: a call. */
export const PERF_IP_FLAG_CALL = 1 << 1;
/** `r`: a return. */
export const PERF_IP_FLAG_RETURN = 1 << 2;
/** `o`: a conditional branch. */
export const PERF_IP_FLAG_CONDITIONAL = 1 << 3;
/** `s`: with CALL a system call, with RETURN the return from one. */
export const PERF_IP_FLAG_SYSCALLRET = 1 << 4;
/** `y`: no instruction asked for it: an interrupt or exception. */
export const PERF_IP_FLAG_ASYNC = 1 << 5;
/** `i`: with CALL an interrupt or exception, with RETURN the return from one. */
export const PERF_IP_FLAG_INTERRUPT = 1 << 6;
/** `A`: a memory transaction aborted. */
export const PERF_IP_FLAG_TX_ABORT = 1 << 7;
/** `B`: the trace begins here. */
export const PERF_IP_FLAG_TRACE_BEGIN = 1 << 8;
/** `E`: the trace ends here. */
export const PERF_IP_FLAG_TRACE_END = 1 << 9;
/** `x`: inside a memory transaction. */
export const PERF_IP_FLAG_IN_TX = 1 << 10;
/** `g`: a guest is entered. */
export const PERF_IP_FLAG_VMENTRY = 1 << 11;
/** `h`: a guest is left. */
export const PERF_IP_FLAG_VMEXIT = 1 << 12;
/** `D`: interrupts are disabled; with INTR_TOGGLE they were, and are no longer. */
export const PERF_IP_FLAG_INTR_DISABLE = 1 << 13;
/** `t`: the instruction turns interrupts on or off. */
export const PERF_IP_FLAG_INTR_TOGGLE = 1 << 14;
