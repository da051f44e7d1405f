import type { Damage } from '../../base/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';

/** What rows of a report of branches are: see `branchReport`. */
export type BranchView = 'functions' | 'edges' | 'mispredicts' | 'loops' | 'blocks';

/** A function that a branch was in or went to. */
export interface BranchFunction {
  /** Its name; an address where it has none. */
  symbol: string;
  /** The binary. */
  dso: string;
  /** perf's letter: `.` user, `k` kernel, `g` guest kernel, `u` guest user, `H` hypervisor. */
  mode: string;
}

/** An instruction that a branch was at or went to. */
export interface BranchPlace extends BranchFunction {
  /** Bytes from the start of the function; null where it has no symbol. */
  offset: number | null;
  /** Address in the binary: of ELF files the offset in the file. Hexadecimal, `0x1139`. */
  address: string;
  /** The line of source code, `/src/main.c:12`; null where nothing is known. */
  srcline: string | null;
}

/** What was counted of a branch, or of many together. */
export interface BranchCounts {
  /** Share of all branches of the event, in percent. */
  percent: number;
  /** How often it was recorded. */
  count: number;
  /** How often the CPU had guessed wrongly; null where the hardware does not say. */
  mispredicted: number | null;
  /** Cycles since the branch before, on average; null where the hardware does not say. */
  cycles: number | null;
}

/** Branches from a function to a function, or (view `edges`) from an instruction to an instruction. */
export interface BranchEdge<Place extends BranchFunction = BranchPlace> extends BranchCounts {
  /** Where the branch was. */
  from: Place;
  /** Where it went. */
  to: Place;
}

/** A branch instruction that the CPU guessed wrongly. */
export interface MispredictedBranch {
  /** Share of all wrong guesses, in percent. */
  percent: number;
  /** How often the CPU had guessed wrongly. */
  mispredicted: number;
  /** How often the branch was taken and recorded. */
  count: number;
  /** Share of wrong guesses in what is known of this branch, in percent. */
  rate: number;
  /** Where it is. */
  place: BranchPlace;
}

/** Code that a branch went back in, and that ran more often than it was come to. */
export interface BranchLoop {
  /** Share of all branches of the event that are in the loop, in percent; loops inside of it included. */
  percent: number;
  /** How often its first instruction ran, as far as it was recorded. */
  iterations: number;
  /** How often it was come to from outside. */
  entries: number;
  /** Iterations for each time it was come to; null where nothing was recorded of how. */
  trips: number | null;
  /** Cycles of an iteration in the loop itself, without functions that it calls; null where not known. */
  cycles: number | null;
  /** How many loops of the function it is in. */
  depth: number;
  /** Its first instruction. */
  first: BranchPlace;
  /** The last branch that goes back to it. */
  last: BranchPlace;
}

/** Code from where a branch went to the next branch. */
export interface BranchBlock {
  /** Share of all cycles, in percent; where no cycles are known, of all blocks that ran. */
  percent: number;
  /** Sum of its cycles; null where the hardware does not say them. */
  totalCycles: number | null;
  /** Cycles on average; null where the hardware does not say them. */
  cycles: number | null;
  /** How often it ran, as far as it was recorded. */
  count: number;
  /** Its first instruction. */
  first: BranchPlace;
  /** Its last instruction, which is a branch. */
  last: BranchPlace;
}

/** The parts of each answer of `branchReport()`. */
export interface BranchAnswerHead<View extends BranchView> {
  /** Tells this answer from others. */
  type: 'branches';
  /** Version of the form of this answer. */
  version: 1;
  /** What the rows are. */
  view: View;
  /** The name of the event. */
  event: string;
  /** How many samples the event has. */
  samples: number;
  /** How many branches they recorded. */
  branches: number;
  /** How many of them the CPU had guessed wrongly; null where the hardware does not say. */
  mispredicted: number | null;
  /** How many rows there are: `most` may have left some out. */
  rowCount: number;
  /** What the recording does not contain. */
  loss: LossEntry[];
  /** What was wrong in the recording. */
  damage: Damage[];
}

/** Rows by view, the largest first. */
export interface BranchRows {
  /** Pairs of functions. */
  functions: BranchEdge<BranchFunction>;
  /** Pairs of instructions. */
  edges: BranchEdge;
  /** Branch instructions with wrong guesses. */
  mispredicts: MispredictedBranch;
  /** Loops. */
  loops: BranchLoop;
  /** Straight code between two branches. */
  blocks: BranchBlock;
}

/** The answer of `branchReport()`. */
export type BranchAnswer<View extends BranchView = BranchView> = {
  [Each in View]: BranchAnswerHead<Each> & {
    /** The rows, the largest first. */
    rows: BranchRows[Each][];
  };
}[View];
