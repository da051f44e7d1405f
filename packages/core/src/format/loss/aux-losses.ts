import { PERF_AUX_FLAG_COLLISION, PERF_AUX_FLAG_PARTIAL, PERF_AUX_FLAG_TRUNCATED } from '../abi/index.ts';
import type { LossKind } from './ledger.ts';

const LOSSES: readonly (readonly [flag: number, kind: LossKind])[] = [
  [PERF_AUX_FLAG_TRUNCATED, 'aux-truncated'],
  [PERF_AUX_FLAG_PARTIAL, 'aux-partial'],
  [PERF_AUX_FLAG_COLLISION, 'aux-collision'],
];

/**
 * Which losses the flags of an AUX record tell of. A record with several tells several things.
 *
 * PERF_AUX_FLAG_OVERWRITE is none: the kernel sets it in every record of an area that overwrites, whether or
 * not anything has been overwritten (`perf_aux_output_end` of kernel/events/ring_buffer.c). Who takes
 * snapshots wants the newest data only. `perf` does not warn of it either.
 *
 * @internal
 */
export function auxLosses(flags: bigint): LossKind[] {
  const low = Number(flags & 0xffn);
  return LOSSES.filter(([flag]) => (low & flag) !== 0).map(([, kind]) => kind);
}
