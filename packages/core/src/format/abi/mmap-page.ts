/** `struct perf_event_mmap_page`: byte offsets of the fields in the first page of a mapped ring. */

/** u32 sequence lock: read all fields again where it has changed meanwhile. */
export const MMAP_PAGE_LOCK = 8;
/** u32: number of the hardware counter plus 1; 0 where the event has none now. */
export const MMAP_PAGE_INDEX = 12;
/** i64 to be added to the value of the hardware counter; the count if there is none. */
export const MMAP_PAGE_OFFSET = 16;
/** u64: how long the event was enabled, in nanoseconds, when the page was last written. */
export const MMAP_PAGE_TIME_ENABLED = 24;
/** u64: how long the event had a counter, in nanoseconds, when the page was last written. */
export const MMAP_PAGE_TIME_RUNNING = 32;
/** u64: MMAP_CAP_* bits. */
export const MMAP_PAGE_CAPABILITIES = 40;
/** u16: bits of the hardware counter, by which its value is sign-extended. */
export const MMAP_PAGE_PMC_WIDTH = 48;
/** u16: right shift that makes nanoseconds of cycles times TIME_MULT. */
export const MMAP_PAGE_TIME_SHIFT = 50;
/** u32: factor that makes nanoseconds of the CPU's cycles. */
export const MMAP_PAGE_TIME_MULT = 52;
/** u64: nanoseconds to be added, for the time since TIME_ENABLED was written. */
export const MMAP_PAGE_TIME_OFFSET = 56;
/** u64: time of samples at cycle 0, in nanoseconds. */
export const MMAP_PAGE_TIME_ZERO = 64;
/** u32: bytes of the page's known fields, up to the reserved ones. */
export const MMAP_PAGE_SIZE = 72;
/** u64: cycles from which a clock of fewer than 64 bits is extended. */
export const MMAP_PAGE_TIME_CYCLES = 80;
/** u64: the bits that such a clock has. */
export const MMAP_PAGE_TIME_MASK = 88;
/** u64: bytes that the kernel has written to the ring in all; it never wraps. */
export const MMAP_PAGE_DATA_HEAD = 1024;
/** u64: bytes that the reader is done with in all; the reader writes it. */
export const MMAP_PAGE_DATA_TAIL = 1032;
/** u64: where the ring's data starts in the mapping, in bytes. */
export const MMAP_PAGE_DATA_OFFSET = 1040;
/** u64: size of the ring's data in bytes. */
export const MMAP_PAGE_DATA_SIZE = 1048;
/** u64: bytes that the hardware has written to the AUX ring in all. */
export const MMAP_PAGE_AUX_HEAD = 1056;
/** u64: how many bytes of the AUX ring the reader has finished in all. The reader writes it. */
export const MMAP_PAGE_AUX_TAIL = 1064;
/** u64: offset by which the AUX ring is to be mapped; set it before. */
export const MMAP_PAGE_AUX_OFFSET = 1072;
/** u64: size of the AUX ring in bytes; set it before the ring is mapped. */
export const MMAP_PAGE_AUX_SIZE = 1080;

/** Bit of the low word of `capabilities`: the counter can be read by an instruction (rdpmc on x86). */
export const MMAP_CAP_USER_RDPMC = 1 << 2;
/** Bit of the low word of `capabilities`: `time_shift`, `time_mult` and `time_offset` are there. */
export const MMAP_CAP_USER_TIME = 1 << 3;
/** Bit of the low word of `capabilities`: `time_zero` is there. */
export const MMAP_CAP_USER_TIME_ZERO = 1 << 4;
/**
 * Bit of the low word of `capabilities`: the clock has less than 64 bits;
 * `time_cycles`, `time_mask` are there.
 */
export const MMAP_CAP_USER_TIME_SHORT = 1 << 5;
