import { optional } from '@counterpoint/core/base';
import type { FlowErrorCount } from '../flow/index.ts';
import type { TraceProfile } from './profile-trace.ts';

/**
 * What a trace comes to, as JSON: 64-bit counts as decimal strings, `firstOffset` in
 * bytes from the start of the trace.
 */
export interface ProfileAnswer {
  /** What kind of answer it is, among other lines of JSON. */
  readonly type: 'pt-profile';
  /** Of this form: what is there now keeps its meaning. */
  readonly version: 1;
  /** Executed instructions. */
  readonly instructions: string;
  /** Runs of instructions: each ends with a branch, or is cut off by an event. */
  readonly blocks: string;
  /** Branch instructions of every kind, taken or not. */
  readonly branches: string;
  /** Near calls, direct and indirect. */
  readonly calls: string;
  /** Of all executed addresses in order, where it was asked for. */
  readonly addressHash?: string;
  /** In the order of their first place; empty: all of the trace was followed. */
  readonly errors: readonly FlowErrorCount[];
  /** Times that the processor lost packets. */
  readonly overflows: number;
  /**
   * What has no rows of its own (see ExactProfile), where there is any: a hostile trace. Totals
   * have it. How much it is depends on the order of counting, and so on the number of workers;
   * whether there is any does not.
   */
  readonly leftOut?: {
    readonly instructions: string;
    readonly branches: string;
    readonly calls: string;
    /** Branches of which it is not known any more where they went. */
    readonly edges: string;
  };
}

/** The totals of a profile, as `counterpoint pt profile --json` prints them. */
export function profileAnswer(found: Omit<TraceProfile, 'profile'>, addressHash?: string): ProfileAnswer {
  const { leftOut } = found;
  const { instructions, blocks, branches, calls } = found.totals;
  const isAllThere = leftOut.instructions === 0 && leftOut.edges === 0;
  return {
    type: 'pt-profile',
    version: 1,
    instructions: String(instructions),
    blocks: String(blocks),
    branches: String(branches),
    calls: String(calls),
    ...optional({ addressHash }),
    errors: found.errors,
    overflows: found.overflows,
    ...(isAllThere
      ? {}
      : {
          leftOut: {
            instructions: String(leftOut.instructions),
            branches: String(leftOut.branches),
            calls: String(leftOut.calls),
            edges: String(leftOut.edges),
          },
        }),
  };
}
