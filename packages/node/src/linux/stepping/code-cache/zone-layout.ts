/*
 * A zone is memory of the target within reach of the code that is translated into it:
 * distances in x86-64 code are signed 32-bit numbers. Each zone stands alone, so that all it
 * needs is at a distance from its code.
 *
 *     0          registers that routines put aside, and where they jump
 *     SYSTEM_CALLS   a byte for each system call: 0 is executed in place, 1 is left to the tracer
 *     BUCKETS    heads of the lists of nodes, by the low 16 bits of an address
 *     NODES      { address in the program, address of its block, next node, unused }
 *     COUNTERS   how often each block was executed
 *     CODE       routines, then blocks; not writable for the target
 */
export const SAVED_RAX = 0;
export const SAVED_RCX = 8;
export const SAVED_RDX = 16;
/** Where an indirect branch goes: an address in the program. */
export const TARGET = 24;
/** The address of its block. */
export const JUMP_TO = 32;
export const SYSTEM_CALLS = 0x1000;
export const SYSTEM_CALLS_END = 0x1_1000;
export const BUCKETS = SYSTEM_CALLS_END;
export const BUCKET_COUNT = 0x1_0000;
export const NODES = BUCKETS + 8 * BUCKET_COUNT;
export const NODE_BYTES = 32;
export const COUNTERS = 0x20_0000;
export const CODE = 0x30_0000;
export const ZONE_BYTES = 0x100_0000;
/** How many of each fit. Then all is forgotten and begins again. */
export const MOST_NODES = Math.floor((COUNTERS - NODES) / NODE_BYTES);
export const MOST_BLOCKS = (CODE - COUNTERS) / 8;
