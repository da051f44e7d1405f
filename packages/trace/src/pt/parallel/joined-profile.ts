import type { ExactProfile, ExactTotals, LeftOut } from '../answers/exact-profile.ts';
import type { TraceProfile } from '../answers/profile-trace.ts';
import type { FlowErrorCount } from '../flow/index.ts';

/** Who only asks for totals does not wait for rows in order. */
export class JoinedProfile implements TraceProfile {
  readonly totals: ExactTotals;
  readonly leftOut: LeftOut;
  readonly errors: FlowErrorCount[];
  readonly overflows: number;
  #profile: ExactProfile;
  #isSorted = false;

  constructor(unsorted: ExactProfile, errors: FlowErrorCount[], overflows: number) {
    this.#profile = unsorted;
    this.totals = unsorted.totals();
    this.leftOut = unsorted.leftOut;
    this.errors = errors;
    this.overflows = overflows;
  }

  get profile(): ExactProfile {
    if (!this.#isSorted) this.#profile = this.#profile.sorted();
    this.#isSorted = true;
    return this.#profile;
  }
}
