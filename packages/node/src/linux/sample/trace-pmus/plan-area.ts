import { CounterpointError } from '@counterpoint/core/base';
import type { AuxRequest } from '../../kernel/perf-events/index.ts';
import type { TraceRequest } from './trace-source.ts';

const KIB = 1024;
const MIB = KIB * KIB;
/** perf's, with the right to lock memory, and without. */
const DEFAULT_BYTES = { privileged: 4 * MIB, others: 128 * KIB };

/** What a driver needs. */
export interface AreaLimits {
  /** As it is called in messages. */
  traced: string;
  /** The least area of a full trace, which is read while it is written. */
  leastBytes: number;
  /** The least area that is written over. */
  leastOverwrittenBytes: number;
}

/** The AUX area of a trace, with the sizes of `perf record`. */
export function planArea(
  { areaBytes, isPrivileged, snapshotBytes, sampleBytes, pageBytes }: TraceRequest,
  limits: AreaLimits,
): AuxRequest {
  const overwrites = snapshotBytes > 0 || sampleBytes > 0;
  const leastBytes = overwrites ? limits.leastOverwrittenBytes : limits.leastBytes;
  const usual = isPrivileged ? DEFAULT_BYTES.privileged : DEFAULT_BYTES.others;
  const held = sampleBytes > 0 ? sampleBytes : Number.isFinite(snapshotBytes) ? snapshotBytes : 0;
  const wanted = areaBytes ?? (held > 0 ? powerOfTwo(Math.max(held, pageBytes)) : usual);
  if (wanted < leastBytes || powerOfTwo(wanted) !== wanted)
    throw new CounterpointError(
      'ERR_AUX_AREA',
      `${limits.traced} cannot be traced into ${wanted} bytes`,
      `Give a power of two of at least ${leastBytes / KIB} KiB behind the comma of -m, such as -m ,4M.`,
    );
  if (held > wanted)
    throw new CounterpointError(
      'ERR_AUX_AREA',
      `${sampleBytes > 0 ? 'samples' : 'snapshots'} of ${held} bytes of trace do not fit into an area of ${wanted} bytes`,
      'Give a larger area behind the comma of -m, or ask for less.',
    );
  return {
    sizeBytes: wanted,
    enoughBytes: Math.min(wanted, usual),
    // What was asked for must fit.
    leastBytes: Math.max(leastBytes, powerOfTwo(held)),
    overwrites,
    isSampled: sampleBytes > 0,
    takenBytes: snapshotBytes > 0 ? snapshotBytes : Number.POSITIVE_INFINITY,
  };
}

function powerOfTwo(size: number): number {
  return size <= 1 ? 1 : 2 ** Math.ceil(Math.log2(size));
}
