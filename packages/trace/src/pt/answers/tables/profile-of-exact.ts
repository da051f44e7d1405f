import { checkArgument } from '@counterpoint/core/base';
import { NONE, type Profile } from '@counterpoint/core/profile';
import type { FlowErrorCount } from '../../flow/index.ts';
import type { ExactProfile } from '../exact-profile.ts';
import type { CodeFunctions } from './code-functions.ts';
import { type TracedProgram, TraceTables } from './trace-tables.ts';

/** Who ran it, and what is missing. */
export interface ProfileOfExactOptions extends TracedProgram {
  /** Of the `TraceProfile`: told in the profile's `damage`. */
  readonly errors?: readonly FlowErrorCount[];
  /** Of the `TraceProfile`: told in the profile's `loss`. */
  readonly overflows?: number;
}

/**
 * Exact counts as the profile that samples of every single instruction would give: no
 * stacks, a frame for each address.
 */
export function profileOfExact(
  exact: ExactProfile,
  functions?: CodeFunctions,
  options: ProfileOfExactOptions = {},
): Profile {
  const isExact = { sortedRows: 'function' };
  const remedy = 'Give the `profile` of the answer of profileTrace().';
  checkArgument(isExact, 'profileOfExact()', 'the profile', exact, 'an ExactProfile', remedy);
  const tables = new TraceTables(functions, options);
  const event = tables.addEvent('instructions');
  for (const row of exact.sortedRows()) {
    const executed = exact.executed.at(row);
    if (executed === 0) continue;
    const frame = tables.frameOf(exact.loOf(row), exact.hiOf(row));
    tables.addWeight(event, tables.stackOf(NONE, frame), executed);
  }
  tables.setLoss(options.overflows ?? 0, options.errors ?? [], exact.leftOut.instructions);
  return tables.profile;
}
