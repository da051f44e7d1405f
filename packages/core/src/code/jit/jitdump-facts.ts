/** jitdump facts (the kernel's tools/perf/Documentation/jitdump-specification.txt). Imports nothing. */

/** `JiTD`, in the byte order of the machine that wrote it. */
export const JITDUMP_MAGIC = 0x4a695444;
export const JITDUMP_HEADER_BYTES = 40;
/** Header flag: times are the CPU's (TSC), not CLOCK_MONOTONIC. */
export const JITDUMP_ARCH_TIMESTAMP = 1;

/** Every record: id, total size, time. */
export const JIT_RECORD_HEADER_BYTES = 16;
export const JIT_CODE_LOAD = 0;
export const JIT_CODE_MOVE = 1;
export const JIT_CODE_DEBUG_INFO = 2;
export const JIT_CODE_CLOSE = 3;
export const JIT_CODE_UNWINDING_INFO = 4;

/** Sizes of what comes before names, code, entries. */
export const JIT_LOAD_BYTES = 40;
export const JIT_MOVE_BYTES = 48;
export const JIT_DEBUG_INFO_BYTES = 16;
export const JIT_DEBUG_ENTRY_BYTES = 16;
export const JIT_UNWINDING_BYTES = 24;
