import { KIND_CALL } from '../../code/instructions/index.ts';
import type { ExactProfile } from './exact-profile.ts';

/** Instructions next to each other that were executed equally often. */
export interface HotRun {
  /** Low half of the first instruction's address, as int32. */
  readonly lo: number;
  /** High half. */
  readonly hi: number;
  /** Number of instructions. */
  readonly length: number;
  /** Times that each of them was executed. */
  readonly executed: number;
}

/** The runs in which most instructions were executed, the largest first. */
export function hotRuns(profile: ExactProfile, limit: number): HotRun[] {
  const runs: HotRun[] = [];
  let first = -1;
  let last = -1;
  let length = 0;
  const end = (): void => {
    if (first >= 0)
      runs.push({
        lo: profile.loOf(first),
        hi: profile.hiOf(first),
        length,
        executed: profile.executed.at(first),
      });
    first = -1;
  };
  for (const row of profile.sortedRows()) {
    const executed = profile.executed.at(row);
    if (executed === 0) continue;
    const goesOn =
      first >= 0 &&
      executed === profile.executed.at(first) &&
      profile.kind.at(last) < KIND_CALL &&
      !profile.isJump(last, row);
    if (!goesOn) {
      end();
      first = row;
      length = 0;
    }
    last = row;
    length++;
  }
  end();
  return runs.sort((a, b) => b.length * b.executed - a.length * a.executed).slice(0, limit);
}
