import {
  PERF_COUNT_SW_DUMMY,
  PERF_FORMAT_ID,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TID,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { encodeAttrShortest, makeAttr } from '@counterpoint/core/records';
import { type Sys, SysError } from '../sys/index.ts';

const THIS_THREAD = 0;
const ANY_CPU = -1;

/**
 * Whether the kernel takes an event that children inherit and whose samples read counters:
 * asked with one that never fires.
 */
export function readsInherited(sys: Sys): boolean {
  const attr = makeAttr({
    type: PERF_TYPE_SOFTWARE,
    config: BigInt(PERF_COUNT_SW_DUMMY),
    samplePeriodOrFreq: 1n,
    sampleType: BigInt(PERF_SAMPLE_TID | PERF_SAMPLE_READ),
    readFormat: BigInt(PERF_FORMAT_ID),
    flags: { inherit: 1, disabled: 1, excludeKernel: 1, excludeHv: 1 },
  });
  try {
    sys.perfEventOpen(encodeAttrShortest(attr), THIS_THREAD, ANY_CPU, null, 0).close();
    return true;
  } catch (error) {
    if (error instanceof SysError) return false;
    throw error;
  }
}
