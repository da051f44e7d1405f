import type { FlowErrorCount } from '../flow/index.ts';
import type { TraceProfile } from './profile-trace.ts';

/** What a trace comes to, as JSON: 64-bit counts as decimal strings, `firstOffset` in bytes from the start of the trace. */
export interface ProfileAnswer {
  readonly type: 'pt-profile';
  readonly version: 1;
  readonly instructions: string;
  /** Runs of instructions: each ends with a branch, or is cut off by an event. */
  readonly blocks: string;
  /** Branch instructions of every kind, taken or not. */
  readonly branches: string;
  /** Near calls, direct and indirect. */
  readonly calls: string;
  /** Of all executed addresses in order, where it was asked for. */
  readonly addressHash?: string;
  readonly errors: readonly FlowErrorCount[];
  /** Times that the processor lost packets. */
  readonly overflows: number;
}

export function profileAnswer(found: TraceProfile, addressHash?: string): ProfileAnswer {
  const { instructions, blocks, branches, calls } = found.profile.totals();
  return {
    type: 'pt-profile',
    version: 1,
    instructions: String(instructions),
    blocks: String(blocks),
    branches: String(branches),
    calls: String(calls),
    ...(addressHash === undefined ? {} : { addressHash }),
    errors: found.errors,
    overflows: found.overflows,
  };
}
