/**
 * Loops, out of branches that went back in their function and the code between branches:
 *
 *     head   ┌→ first ...            iterations: back + head
 *            │  ...      ←─ middle   entries: head + middle (C compilers jump to the test first)
 *     back   └─ last                 trips: iterations / entries
 *     left      ...
 *
 * Code falls into `first`, or a branch comes to it. A call that comes back into the middle is no entry.
 *
 * What was not repeated is no loop: compilers put rare code behind a function's end, and it jumps back, too.
 */
import {
  PERF_BR_CALL,
  PERF_BR_COND_CALL,
  PERF_BR_COND_RET,
  PERF_BR_IND_CALL,
  PERF_BR_RET,
} from '../../format/abi/index.ts';
import { MOST_RANGE_BYTES } from '../../profile/ingest/index.ts';
import {
  type BranchEdgeTable,
  NONE,
  type Profile,
  type ProfileBranches,
} from '../../profile/tables/index.ts';
import { CodeOrder, RowsInOrder } from './code-order.ts';

export interface Loop {
  /** Frames of its first instruction and of the last branch back to it. */
  first: number;
  last: number;
  iterations: number;
  entries: number;
  /** Branches in it. */
  branches: number;
  /** Cycles in it, without functions that it calls; 0 where the hardware does not say them. */
  cycles: number;
  /** Executions of blocks in it that say their cycles. */
  withCycles: number;
  depth: number;
}

const CALLS: ReadonlySet<number> = new Set([PERF_BR_CALL, PERF_BR_IND_CALL, PERF_BR_COND_CALL]);
const RETURNS: ReadonlySet<number> = new Set([PERF_BR_RET, PERF_BR_COND_RET]);
/**
 * Of kinds that no branch says: a branch to the first instruction of its function may be a call to itself.
 */
const UNKNOWN_TYPE = 0;

export function findLoops(profile: Profile, branches: ProfileBranches, event: number): Loop[] {
  const code = new CodeOrder(profile);
  const loops = loopsByFirst(profile, branches, event, code);
  if (loops.size === 0) return [];
  const counted = new LoopCounts(profile, branches, event, code);
  for (const loop of loops.values()) counted.addTo(loop);
  const repeated = [...loops.values()].filter(({ iterations, entries }) => iterations > entries);
  nest(repeated, code);
  return repeated;
}

class LoopCounts {
  readonly #profile: Profile;
  readonly #branches: ProfileBranches;
  readonly #code: CodeOrder;
  readonly #from: RowsInOrder;
  readonly #to: RowsInOrder;
  readonly #ranges: RowsInOrder;
  /** Of each stack the code before its oldest branch is not known: so much more ran than ranges say. */
  readonly #scale: number;

  constructor(profile: Profile, branches: ProfileBranches, event: number, code: CodeOrder) {
    const { edges, ranges } = branches;
    this.#profile = profile;
    this.#branches = branches;
    this.#code = code;
    this.#from = new RowsInOrder(edges.event, edges.from, event, code);
    this.#to = new RowsInOrder(edges.event, edges.to, event, code);
    this.#ranges = new RowsInOrder(ranges.event, ranges.first, event, code);
    this.#scale = Math.max(1, this.#from.sumOf(edges.count) / Math.max(1, this.#ranges.sumOf(ranges.count)));
  }

  addTo(loop: Loop): void {
    const { edges, ranges } = this.#branches;
    const code = this.#code;
    const start = code.of(loop.first);
    const end = code.of(loop.last);
    let head = 0;
    let middle = 0;
    for (const row of this.#to.between(start, end)) {
      const from = code.of(edges.from.at(row));
      if (from >= start && from <= end) continue;
      if (code.of(edges.to.at(row)) === start) head += edges.count.at(row);
      else if (isJumpInFunction(this.#profile, edges, row)) middle += edges.count.at(row);
    }
    for (const row of this.#ranges.between(start - MOST_RANGE_BYTES, start - 1))
      if (code.of(ranges.last.at(row)) >= start) head += ranges.count.at(row) * this.#scale;
    loop.iterations = Math.round(loop.iterations + head);
    loop.entries = Math.round(head + middle);
    for (const row of this.#from.between(start, end)) loop.branches += edges.count.at(row);
    for (const row of this.#ranges.between(start, end)) {
      if (code.of(ranges.last.at(row)) > end) continue;
      loop.cycles += ranges.cycles.at(row);
      loop.withCycles += ranges.withCycles.at(row);
    }
  }
}

/** Branches that go back, by where they go to. */
function loopsByFirst(
  profile: Profile,
  { edges }: ProfileBranches,
  event: number,
  code: CodeOrder,
): Map<number, Loop> {
  const loops = new Map<number, Loop>();
  for (let row = 0; row < edges.length; row++) {
    const from = edges.from.at(row);
    const to = edges.to.at(row);
    if (edges.event.at(row) !== event || code.of(to) > code.of(from)) continue;
    if (!isInOneFunction(profile, from, to) || isCallOrReturn(profile, edges.type.at(row), to)) continue;
    const known = loops.get(to);
    if (known === undefined) {
      const counts = { iterations: edges.count.at(row), entries: 0, branches: 0 };
      loops.set(to, { first: to, last: from, ...counts, cycles: 0, withCycles: 0, depth: 0 });
      continue;
    }
    known.iterations += edges.count.at(row);
    if (code.of(from) > code.of(known.last)) known.last = from;
  }
  return loops;
}

function isInOneFunction({ frames }: Profile, from: number, to: number): boolean {
  const symbol = frames.symbol.at(from);
  return (
    symbol !== NONE && symbol === frames.symbol.at(to) && frames.jitCode.at(from) === frames.jitCode.at(to)
  );
}

function isCallOrReturn({ frames }: Profile, type: number, to: number): boolean {
  if (type === UNKNOWN_TYPE) return frames.symbolOffset.at(to) === 0;
  return CALLS.has(type) || RETURNS.has(type);
}

function isJumpInFunction(profile: Profile, edges: BranchEdgeTable, row: number): boolean {
  if (!isInOneFunction(profile, edges.from.at(row), edges.to.at(row))) return false;
  const type = edges.type.at(row);
  return !CALLS.has(type) && !RETURNS.has(type);
}

/** How deep each loop is in others: those that begin first, and end last, are around. */
function nest(loops: readonly Loop[], code: CodeOrder): void {
  const ordered = [...loops].sort(
    (a, b) => code.of(a.first) - code.of(b.first) || code.of(b.last) - code.of(a.last),
  );
  const around: Loop[] = [];
  for (const loop of ordered) {
    while (around.length > 0 && code.of(around.at(-1)!.last) < code.of(loop.last)) around.pop();
    loop.depth = around.length;
    around.push(loop);
  }
}
