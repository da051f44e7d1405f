import { Float64Column, Int32Column } from './column.ts';

/** Branches that were taken, as a table: one row for each pair of places of each event. */
export class BranchEdgeTable {
  /** Row of `Profile.events`. */
  readonly event = new Int32Column();
  /** Row of `Profile.frames`: where the branch was. */
  readonly from = new Int32Column();
  /** Row of `Profile.frames`: where it went. */
  readonly to = new Int32Column();
  /** PERF_BR_* of the kind of branch, as last seen; 0 where the hardware does not say. */
  readonly type = new Int32Column();
  /** How often it was recorded. */
  readonly count = new Float64Column();
  /** How often the CPU had guessed it rightly; what is in neither column is not known. */
  readonly predicted = new Float64Column();
  /** How often the CPU had guessed something else. */
  readonly mispredicted = new Float64Column();
  /** Sum of the cycles since the branch before, where the hardware says them. */
  readonly cycles = new Float64Column();
  /** How many of `count` say their cycles. */
  readonly withCycles = new Float64Column();
  /** How many rows there are. */
  get length(): number {
    return this.count.length;
  }
}

/** Code that ran straight on between two branches, as a table: from where one went to where the next was. */
export class BranchRangeTable {
  /** Row of `Profile.events`. */
  readonly event = new Int32Column();
  /** Row of `Profile.frames`: the first instruction. */
  readonly first = new Int32Column();
  /** Row of `Profile.frames`: the last instruction, which is a branch. */
  readonly last = new Int32Column();
  /** How often it ran. */
  readonly count = new Float64Column();
  /** Sum of its cycles, where the hardware says them. */
  readonly cycles = new Float64Column();
  /** How many of `count` say their cycles. */
  readonly withCycles = new Float64Column();
  /** How many rows there are. */
  get length(): number {
    return this.count.length;
  }
}

/** The branches of a recording, of branch stacks or of branches that were recorded one by one. */
export class ProfileBranches {
  /** The branches themselves. */
  readonly edges = new BranchEdgeTable();
  /** The code between them. */
  readonly ranges = new BranchRangeTable();
}
