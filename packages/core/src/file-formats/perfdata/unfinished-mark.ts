/**
 * In the header of a file whose recorder still writes: the offset of the section of event types, whose size
 * is 0. No perf since Linux 3.10 looks at it, and all of them write zeros. The letters are `killed`.
 */
export const UNFINISHED_MARK = 0x64656c6c696b;
