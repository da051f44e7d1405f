import { CounterpointError, checkArgument } from '@counterpoint/core/base';
import { NONE, type Profile } from '@counterpoint/core/profile';
import { type PerfClock, tscToPerfTime } from '../../time/perf-clock.ts';
import { CALL_UNTRACED } from '../calls/call-kinds.ts';
import { NO_ROW } from '../calls/call-record.ts';
import type { TraceCalls } from '../calls/trace-calls.ts';
import type { CodeFunctions } from './code-functions.ts';
import { type TracedProgram, TraceTables } from './trace-tables.ts';

/** Who ran it, and in what time is counted. */
export interface ProfileOfCallsOptions extends TracedProgram {
  /** Time in nanoseconds instead of TSC ticks. */
  readonly clock?: PerfClock;
}

/**
 * Instructions by call path, and time by call path where the trace has it, as the profile that samples of
 * every single instruction (or nanosecond) would give. `calls` must have been made with `withTree`: else it
 * throws `ERR_ARGUMENT`.
 */
export function profileOfCalls(
  calls: TraceCalls,
  functions?: CodeFunctions,
  options: ProfileOfCallsOptions = {},
): Profile {
  const isAnswer = { addresses: 'object' };
  checkArgument(isAnswer, 'profileOfCalls()', 'the calls', calls, 'the answer of CallTrace.run()');
  const { tree, addresses, baseTsc } = calls;
  if (tree === null)
    throw new CounterpointError(
      'ERR_ARGUMENT',
      'these calls were found without their paths',
      'Make the CallTrace with `withTree: true`.',
    );
  const { clock } = options;
  const tables = new TraceTables(functions, options);
  const instructions = tables.addEvent('instructions');
  const hasTime = baseTsc !== null;
  let time: number = NONE;
  if (hasTime)
    time = clock === undefined ? tables.addEvent('tsc', 'ticks') : tables.addEvent('time', 'nanoseconds');
  const stacks = new Int32Array(tree.length);
  const nsPerTick = clock === undefined ? 1 : clock.timeMult / 2 ** clock.timeShift;
  for (let path = 0; path < tree.length; path++) {
    const parent = tree.parent.at(path);
    const row = tree.functionRow.at(path);
    const isUntraced = tree.kind.at(path) === CALL_UNTRACED || row === NO_ROW;
    const frame = isUntraced
      ? tables.untracedFrame()
      : tables.frameOf(addresses.loOf(row), addresses.hiOf(row));
    const stack = tables.stackOf(parent === NO_ROW ? NONE : stacks[parent]!, frame);
    stacks[path] = stack;
    tables.addWeight(instructions, stack, tree.instructions.at(path));
    if (hasTime) tables.addWeight(time, stack, Math.round(tree.ticks.at(path) * nsPerTick));
  }
  if (clock !== undefined && baseTsc !== null) tables.profile.baseTimeNs = tscToPerfTime(clock, baseTsc);
  tables.setLoss(calls.overflows, calls.errors);
  return tables.profile;
}
