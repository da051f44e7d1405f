/** `struct perf_event_mmap_page`: byte offsets of the fields in the first page of a mapped ring. */
export const MMAP_PAGE_LOCK = 8;
export const MMAP_PAGE_INDEX = 12;
export const MMAP_PAGE_OFFSET = 16;
export const MMAP_PAGE_TIME_ENABLED = 24;
export const MMAP_PAGE_TIME_RUNNING = 32;
export const MMAP_PAGE_CAPABILITIES = 40;
export const MMAP_PAGE_PMC_WIDTH = 48;
export const MMAP_PAGE_TIME_SHIFT = 50;
export const MMAP_PAGE_TIME_MULT = 52;
export const MMAP_PAGE_TIME_OFFSET = 56;
export const MMAP_PAGE_TIME_ZERO = 64;
export const MMAP_PAGE_SIZE = 72;
export const MMAP_PAGE_TIME_CYCLES = 80;
export const MMAP_PAGE_TIME_MASK = 88;
export const MMAP_PAGE_DATA_HEAD = 1024;
export const MMAP_PAGE_DATA_TAIL = 1032;
export const MMAP_PAGE_DATA_OFFSET = 1040;
export const MMAP_PAGE_DATA_SIZE = 1048;
export const MMAP_PAGE_AUX_HEAD = 1056;
export const MMAP_PAGE_AUX_TAIL = 1064;
export const MMAP_PAGE_AUX_OFFSET = 1072;
export const MMAP_PAGE_AUX_SIZE = 1080;

/** Bits of the low word of `capabilities`. */
export const MMAP_CAP_USER_RDPMC = 1 << 2; // the counter can be read by an instruction
export const MMAP_CAP_USER_TIME = 1 << 3; // time_shift, time_mult and time_offset are there
export const MMAP_CAP_USER_TIME_ZERO = 1 << 4; // and time_zero
export const MMAP_CAP_USER_TIME_SHORT = 1 << 5; // and time_cycles, time_mask: the clock has less than 64 bits
