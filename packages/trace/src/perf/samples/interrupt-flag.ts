/**
 * Changes of the interrupt flag as samples, and what branches say of it. Raw data is perf's
 * `perf_synth_intel_iflag_chg`, without its padding:
 *
 *   | 0 the flag from now on, 1 a branch made the change | 4 where the branch went, u64 |
 *
 * The trace tells of the change behind the branch that made it, but that branch's own sample is to say
 * so, and to come behind this one.
 */
import { PERF_IP_FLAG_INTR_DISABLE, PERF_IP_FLAG_INTR_TOGGLE } from '@counterpoint/core/abi';
import { EVENT_IFLAGS, FLAG_BY_BRANCH, type FlowEvent } from '../../pt/index.ts';
import type { TraceSampler } from './trace-sampler.ts';

const RAW_BYTES = 12;
const IS_ON = 1;
const BY_BRANCH = 2;
const scratch = new DataView(new ArrayBuffer(RAW_BYTES));
const scratchBytes = new Uint8Array(scratch.buffer);

/** Does the event tell what the branch before it did to the flag? */
export function isInterruptChange(event: Readonly<FlowEvent>): boolean {
  return event.kind === EVENT_IFLAGS && !event.isStatus && (event.flags & FLAG_BY_BRANCH) !== 0;
}

/**
 * The flag changes with a branch that has `flags`, or, where these are 0, with the instruction before an
 * address. Returns what the branch's sample has to say besides.
 */
export function putInterruptChange(
  sampler: TraceSampler,
  isOn: boolean,
  flags: number,
  fromLo: number,
  fromHi: number,
  toLo: number,
  toHi: number,
): number {
  const change = PERF_IP_FLAG_INTR_TOGGLE | (isOn ? PERF_IP_FLAG_INTR_DISABLE : 0);
  const le = sampler.buffer.littleEndian;
  const isBranch = flags !== 0;
  scratch.setUint32(0, (isOn ? IS_ON : 0) | (isBranch ? BY_BRANCH : 0), le);
  scratch.setInt32(le ? 4 : 8, isBranch ? toLo : 0, le);
  scratch.setInt32(le ? 8 : 4, isBranch ? toHi : 0, le);
  sampler.putEvent(sampler.events.iflag, fromLo, fromHi, scratchBytes, flags | change);
  return change;
}
