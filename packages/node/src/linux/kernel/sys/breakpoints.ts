import { PERF_TYPE_BREAKPOINT } from '@counterpoint/core/abi';
import { encodeAttrShortest, makeAttr } from '@counterpoint/core/records';
import type { Sys } from './sys.ts';

/** HW_BREAKPOINT_RW and HW_BREAKPOINT_LEN_8 (linux/hw_breakpoint.h). */
const READS_AND_WRITES = 3;
const WATCHED_BYTES = 8n;
const WRITES = 8;

/**
 * Whether breakpoints of the CPU's debug registers stop here: the kernel sets them in any case, but some
 * hypervisors do not pass them on to the CPU (seen on AMD EPYC), and then nothing ever happens. Found out by
 * one on memory of our own. null: it cannot be told, as one may not be set, or all are taken.
 */
export function breakpointsWork(sys: Sys): boolean | null {
  using memory = sys.mapAnonymous(sys.pageSizeBytes());
  if (memory.address === null) return null;
  const attr = makeAttr({
    type: PERF_TYPE_BREAKPOINT,
    breakpointType: READS_AND_WRITES,
    config1: memory.address,
    config2: WATCHED_BYTES,
    flags: { excludeKernel: 1, excludeHv: 1 },
  });
  try {
    using fd = sys.perfEventOpen(encodeAttrShortest(attr), 0, -1, null);
    const watched = new DataView(memory.buffer);
    for (let write = 1; write <= WRITES; write++) watched.setUint32(0, write, true);
    const count = new Uint8Array(8);
    sys.read(fd, count);
    return count.some((byte) => byte !== 0);
  } catch {
    return null;
  }
}
