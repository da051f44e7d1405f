import { drawArrows, type JumpArrow } from './arrows.ts';
import type { ListedInstruction } from './listing.ts';

/** A jump between two places that are hot is part of a hot path, as is a loop that is. */
const HOT_PERCENT = 5;

export interface ListedArrows {
  /** Text before each instruction's address. */
  readonly cells: readonly string[];
  /** Instructions at an end of a jump on a hot path. */
  readonly isHot: (index: number) => boolean;
}

export function arrowsOf(instructions: readonly ListedInstruction[]): ListedArrows {
  const sources = new Map<number, number[]>();
  instructions.forEach(({ jumpsTo }, index) => {
    if (jumpsTo === null) return;
    const known = sources.get(jumpsTo);
    if (known === undefined) sources.set(jumpsTo, [index]);
    else known.push(index);
  });
  const arrows = [...sources].map(([target, from]): JumpArrow => ({ target, sources: from }));
  const heat = blockShares(instructions, new Set(sources.keys()));
  const isHotArrow = ({ target, sources: from }: JumpArrow) =>
    heat[target]! >= HOT_PERCENT && from.some((source) => heat[source]! >= HOT_PERCENT);
  const { cells, emphasized } = drawArrows(instructions.length, arrows, isHotArrow);
  return { cells, isHot: (index) => emphasized[index] === true };
}

/** For each instruction the share of the stretch without jumps that it is in. */
function blockShares(
  instructions: readonly ListedInstruction[],
  targets: ReadonlySet<number>,
): readonly number[] {
  const shares = new Array<number>(instructions.length).fill(0);
  for (let first = 0; first < instructions.length; ) {
    let end = first + 1;
    while (end < instructions.length && !targets.has(end) && instructions[end - 1]!.jumpsTo === null) end++;
    let sum = 0;
    for (let index = first; index < end; index++) sum += instructions[index]!.percent;
    shares.fill(sum, first, end);
    first = end;
  }
  return shares;
}
