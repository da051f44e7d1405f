/**
 * The trace metadata of a recording of tracepoints: what the kernel said about its events, as text.
 *
 *   | 17 08 44 "tracing" | version, NUL | big-endian u8 | long size u8 | page size u32 |
 *   | "header_page" NUL  u64 size  text | "header_event" NUL  u64 size  text |
 *   | u32 count, then per ftrace format: u64 size  text |
 *   | u32 count, then per system: name NUL, u32 count, then per event: u64 size  text |
 *   | u32 size  kallsyms | u32 size  printk formats | from version 0.6: u64 size  command names |
 *
 * Numbers are in the byte order that the blob itself states. See trace-cmd.dat.v6(5),
 * which describes its descendant.
 */
export interface TracingParts {
  /** Version of the form. */
  version: string;
  /** Byte order of the recorded machine. */
  littleEndian: boolean;
  /** Size of a C `long` of the recorded kernel: 4 or 8. */
  longSize: number;
  /** Size of a page of the recorded kernel, in bytes. */
  pageSize: number;
  /** `header_page` of tracefs. */
  headerPage: string;
  /** `header_event` of tracefs. */
  headerEvent: string;
  /** Formats of ftrace's own events. */
  ftraceFormats: string[];
  /** The texts of `format` of tracepoints, by system. */
  systems: { name: string; formats: string[] }[];
  /** Addresses of the kernel's functions, as perf writes them. */
  kallsyms: Uint8Array;
  /** Texts that trace_printk() refers to. */
  printkFormats: Uint8Array;
  /** `PID NAME` lines. */
  savedCommandNames: Uint8Array;
}
