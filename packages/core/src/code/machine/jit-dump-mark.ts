import { PERF_RECORD_MMAP, PERF_RECORD_MMAP2 } from '../../format/abi/index.ts';
import type { Mmap2Record, MmapRecord, PerfRecord } from '../../format/records/index.ts';

/** The number in it is that of the process as it sees itself: in a container another one. */
const PATH = /\/jit-\d+\.dump$/;

/**
 * Whether a mapping is the mark of a jitdump (see `mappedJitDump`). No code is there.
 *
 * @internal
 */
export function isJitDump(path: string): boolean {
  return PATH.test(path);
}

/**
 * The jitdump of a process, where a record says that it has mapped it: runtimes map the file to which they
 * write what code they make, so that recordings have its path. Null for any other record.
 *
 * @internal
 */
export function mappedJitDump(record: PerfRecord): { pid: number; path: string } | null {
  if (record.type !== PERF_RECORD_MMAP && record.type !== PERF_RECORD_MMAP2) return null;
  const { pid, path } = record as MmapRecord | Mmap2Record;
  return isJitDump(path) ? { pid, path } : null;
}
