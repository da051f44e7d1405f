/** Where boxes are. Pure: shared by the still picture and the page. */

/** Rows in pre-order: what a file holds of each box. */
export interface BoxColumns {
  depth: ArrayLike<number>;
  selfWeight: ArrayLike<number>;
  hiddenWeight: ArrayLike<number>;
}

/**
 * What follows from them. A box's width is its callees' (heaviest first), then its
 * hidden callees', then its own:
 *
 *     ┌──────┬───┬┄┄┄┄┐
 *     │  b   │ c ┊    ┊            c's end is d
 *     ├──────┴───┴────┴───────┬──────┐
 *     │  a                    │  d   │
 *     └───────────────────────┴──────┘
 *     callees     hidden  own
 */
export interface BoxLayout {
  /** -1 for row 0. */
  parent: Int32Array;
  /** First row after the box's callees. */
  end: Int32Array;
  /** Left edge, in weight. */
  start: Float64Array;
  total: Float64Array;
}

export function layOutBoxes(boxes: BoxColumns): BoxLayout {
  const { depth } = boxes;
  const count = depth.length;
  const total = totals(boxes.depth, boxes.selfWeight, boxes.hiddenWeight);
  const parent = new Int32Array(count).fill(-1);
  const end = new Int32Array(count).fill(count);
  const start = new Float64Array(count);
  // Rows from row 0 down to the current one, and where the next callee of each begins.
  const open: number[] = [];
  const next: number[] = [0];
  for (let row = 0; row < count; row++) {
    const level = depth[row]!;
    while (open.length > level) end[open.pop()!] = row;
    if (level > 0) parent[row] = open[level - 1]!;
    open.push(row);
    start[row] = next[level]!;
    next[level] = start[row]! + total[row]!;
    next[level + 1] = start[row]!;
  }
  return { parent, end, start, total };
}

/** Whole weight of each box: its own, its hidden callees' and its callees'. */
export function totals(
  depth: ArrayLike<number>,
  self: ArrayLike<number>,
  hidden: ArrayLike<number>,
): Float64Array {
  const sums = new Float64Array(depth.length);
  // Walking backwards: what the boxes of each depth weigh that wait for their caller.
  const waiting: number[] = [];
  for (let row = depth.length - 1; row >= 0; row--) {
    const level = depth[row]!;
    sums[row] = self[row]! + hidden[row]! + (waiting[level + 1] ?? 0);
    waiting[level + 1] = 0;
    waiting[level] = (waiting[level] ?? 0) + sums[row]!;
  }
  return sums;
}

/**
 * Calls back with the edges of each box to be drawn when `zoom` fills the width: its callers, then it, then
 * its callees that cover at least one pixel that no box of their depth covers yet.
 */
export function visitBoxes(
  layout: BoxLayout,
  zoom: number,
  left: number,
  width: number,
  visit: (row: number, left: number, right: number, depth: number) => void,
): void {
  const { end, parent, start, total } = layout;
  let depth = 0;
  for (let row = parent[zoom]!; row >= 0; row = parent[row]!) depth++;
  for (let row = parent[zoom]!, above = depth - 1; row >= 0; row = parent[row]!) {
    visit(row, left, left + width, above--);
  }
  visit(zoom, left, left + width, depth);
  const scale = total[zoom]! > 0 ? width / total[zoom]! : 0;
  const origin = start[zoom]!;
  const covered: number[] = [];
  const ends = [end[zoom]!];
  for (let row = zoom + 1; row < end[zoom]!; ) {
    while (row >= ends[ends.length - 1]!) ends.pop();
    const level = depth + ends.length;
    const from = left + (start[row]! - origin) * scale;
    const to = from + total[row]! * scale;
    if (Math.round(to) <= (covered[level] ?? left)) {
      row = end[row]!;
      continue;
    }
    visit(row, from, to, level);
    covered[level] = Math.round(to);
    ends.push(end[row]!);
    row++;
  }
}
