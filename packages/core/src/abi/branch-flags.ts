/**
 * What a branch is, as perf's PERF_IP_FLAG_* say it (tools/perf/util/event.h). The order of the bits is that
 * of the letters that perf prints for them, `bcrosyiABExghDt`.
 */

export const PERF_IP_FLAG_BRANCH = 1 << 0;
export const PERF_IP_FLAG_CALL = 1 << 1;
export const PERF_IP_FLAG_RETURN = 1 << 2;
export const PERF_IP_FLAG_CONDITIONAL = 1 << 3;
export const PERF_IP_FLAG_SYSCALLRET = 1 << 4;
export const PERF_IP_FLAG_ASYNC = 1 << 5;
export const PERF_IP_FLAG_INTERRUPT = 1 << 6;
export const PERF_IP_FLAG_TX_ABORT = 1 << 7;
export const PERF_IP_FLAG_TRACE_BEGIN = 1 << 8;
export const PERF_IP_FLAG_TRACE_END = 1 << 9;
export const PERF_IP_FLAG_IN_TX = 1 << 10;
export const PERF_IP_FLAG_VMENTRY = 1 << 11;
export const PERF_IP_FLAG_VMEXIT = 1 << 12;
/** Interrupts are disabled; with PERF_IP_FLAG_INTR_TOGGLE they were. */
export const PERF_IP_FLAG_INTR_DISABLE = 1 << 13;
export const PERF_IP_FLAG_INTR_TOGGLE = 1 << 14;
