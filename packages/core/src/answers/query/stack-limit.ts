import { checkArgument, TripleTable } from '../../base/index.ts';
import { checkProfile, NONE, type Profile, StackTable } from '../../profile/tables/index.ts';
import { copyOfSamples } from './sample-part.ts';

/** Which end of a stack stays: at the function that ran, or at the roots. */
export type StackEnd = 'innermost' | 'outermost';

/**
 * A copy of the profile, each stack cut to `most` frames; its samples and stacks are new, all else is shared.
 * With `outermost` the function that ran stays as the last frame, whose own time it is, as in
 * `perf report --children --max-stack`.
 */
export function limitStacks(profile: Profile, most: number, end: StackEnd): Profile {
  checkProfile('limitStacks()', profile);
  checkArgument(most >= 1, 'limitStacks()', 'the number of frames', most, 'a number from 1');
  checkArgument(
    end === 'innermost' || end === 'outermost',
    'limitStacks()',
    'the end',
    end,
    "'innermost' or 'outermost'",
  );
  const { prefix, frame } = profile.stacks;
  const cut = new StackRows();
  const limited = { ...copyOfSamples(profile), stacks: cut.stacks };
  const known = new Map<number, number>();
  const path: number[] = [];
  const column = limited.samples.stack;
  for (let row = 0; row < column.length; row++) {
    const stack = column.at(row);
    if (stack === NONE) continue;
    let found = known.get(stack);
    if (found === undefined) {
      path.length = 0;
      for (let at = stack; at !== NONE; at = prefix.at(at)) path.push(frame.at(at));
      const kept = end === 'innermost' ? path.slice(0, most) : path.slice(-most);
      if (end === 'outermost' && path.length > most) kept.unshift(path[0]!);
      found = kept.reduceRight((outer, inner) => cut.row(outer, inner), NONE);
      known.set(stack, found);
    }
    column.data[row] = found;
  }
  return limited;
}

/** Rows of a table of stacks, each pair of caller and frame once. */
class StackRows {
  readonly stacks = new StackTable();
  readonly #rows = new TripleTable();

  row(prefix: number, frame: number): number {
    const found = this.#rows.find(prefix, frame, 0);
    if (found >= 0) return found;
    this.stacks.prefix.push(prefix);
    this.stacks.frame.push(frame);
    return -1 - found;
  }
}
