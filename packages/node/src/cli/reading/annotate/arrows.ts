/**
 * Arrows of the jumps inside a function, beside its instructions. All jumps to one place share a lane; a
 * short one is next to the code:
 *
 *     ┌──   je      c
 *     │┌──  jmp     b
 *     │└─>  b:
 *     └──>  c:
 */

/** A place that is jumped to, and from where; rows of instructions. */
export interface JumpArrow {
  readonly target: number;
  readonly sources: readonly number[];
}

/** More would push the code out of sight: arrows beyond are left out, the text still names their targets. */
const MOST_LANES = 8;

/**
 * One cell of text for each row, all of the same width; `emphasis` says which rows are on an arrow that is.
 */
export function drawArrows(
  rows: number,
  arrows: readonly JumpArrow[],
  isEmphasized: (arrow: JumpArrow) => boolean = () => false,
): { cells: string[]; emphasized: boolean[] } {
  const lanes = assignLanes(arrows);
  const laneCount = lanes.reduce((most, { lane }) => Math.max(most, lane + 1), 0);
  if (laneCount === 0) return { cells: new Array<string>(rows).fill(''), emphasized: [] };
  const width = laneCount + 2;
  const grid = Array.from({ length: rows }, () => new Array<string>(width).fill(' '));
  const emphasized = new Array<boolean>(rows).fill(false);
  for (const { arrow, lane, first, last } of lanes) {
    const column = laneCount - 1 - lane;
    const ends = new Set([arrow.target, ...arrow.sources]);
    for (let row = first; row <= last; row++) {
      const line = grid[row]!;
      if (!ends.has(row)) {
        line[column] = line[column] === '─' ? '┼' : '│';
        continue;
      }
      line[column] = first === last ? '╶' : row === first ? '┌' : row === last ? '└' : '├';
      for (let right = column + 1; right < width; right++) {
        if (line[right] === ' ') line[right] = '─';
        else if (line[right] === '│') line[right] = '┼';
      }
      if (row === arrow.target) line[width - 1] = '>';
      if (isEmphasized(arrow)) emphasized[row] = true;
    }
  }
  return { cells: grid.map((line) => line.join('')), emphasized };
}

interface Lane {
  arrow: JumpArrow;
  first: number;
  last: number;
  lane: number;
}

function assignLanes(arrows: readonly JumpArrow[]): Lane[] {
  const wanted = arrows
    .map((arrow) => {
      const ends = [arrow.target, ...arrow.sources];
      return {
        arrow,
        first: ends.reduce((a, b) => Math.min(a, b)),
        last: ends.reduce((a, b) => Math.max(a, b)),
      };
    })
    .sort((a, b) => a.last - a.first - (b.last - b.first) || a.first - b.first);
  const taken: { first: number; last: number }[][] = Array.from({ length: MOST_LANES }, () => []);
  const lanes: Lane[] = [];
  for (const one of wanted) {
    const lane = taken.findIndex((others) =>
      others.every(({ first, last }) => one.last < first || one.first > last),
    );
    if (lane < 0) continue;
    taken[lane]!.push(one);
    lanes.push({ ...one, lane });
  }
  return lanes;
}
