import { NONE, type Profile } from '../../profile/tables/index.ts';
import type { Functions } from './functions.ts';
import type { StackEnd } from './stack-limit.ts';

/**
 * System calls and page faults, by the names of Linux before and after 4.17
 * (perf's default has the old ones).
 */
export const PARENT_PATTERN = /* @__PURE__ */ /^(__\w+_)?sys_|^(do|exc)_page_fault/;

/** What reports print in place of a parent where no function of the stack is one. */
export const NO_PARENT = '[other]';

/**
 * By row of stacks: the id of the function that counts as its parent (perf's `--parent`), or `NONE`. Of
 * several the one at `end` is it. Functions without a name are none.
 */
export function parentsOfStacks(
  { frames, stacks }: Profile,
  functions: Functions,
  pattern: RegExp,
  end: StackEnd,
): Int32Array {
  // A pattern with these flags would go on where its last match ended.
  const stateless = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
  const matches = new Map<number, boolean>();
  const isParent = (frame: number): boolean => {
    if (frames.symbol.at(frame) === NONE) return false;
    const id = functions.ofFrame(frame);
    let found = matches.get(id);
    if (found === undefined) matches.set(id, (found = stateless.test(functions.name(id))));
    return found;
  };
  const parents = new Int32Array(stacks.length);
  // Callers stand before their callees.
  for (let row = 0; row < stacks.length; row++) {
    const prefix = stacks.prefix.at(row);
    const outer = prefix === NONE ? NONE : parents[prefix]!;
    const frame = stacks.frame.at(row);
    if (end === 'outermost' && outer !== NONE) parents[row] = outer;
    else parents[row] = isParent(frame) ? functions.ofFrame(frame) : outer;
  }
  return parents;
}
