import { CounterpointError } from '@counterpoint/core/base';
import type { TraceRequest } from './trace-source.ts';

/**
 * Only Intel PT can copy a part of its trace into samples: no other driver of the kernel has `snapshot_aux`.
 */
export function refuseSamplesOfTrace(name: string, { sampleBytes }: TraceRequest): void {
  if (sampleBytes > 0)
    throw new CounterpointError(
      'ERR_TRACE_EVENT',
      `${name} cannot put parts of its trace into samples: the kernel does so for Intel PT only`,
      'Leave out --aux-sample and aux-sample-size=.',
    );
}
