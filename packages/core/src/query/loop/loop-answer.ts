import type { Damage } from '../../base/index.ts';
import type { LossEntry } from '../../loss/index.ts';
import type { TurnKind } from './kept-turns.ts';
import type { PartState } from './turn-parts.ts';

/** A function as a row names it. */
export interface LoopFunction {
  /** Its name, as its author writes it. */
  name: string;
  /** Of JavaScript, as far as its runtime says it. */
  file: string | null;
  /** From 1. */
  line: number | null;
  /** From 1. */
  column: number | null;
}

/** Nanoseconds are whole numbers; times count from the beginning of the recording. */
export interface LoopsAnswer {
  /** What the answer is. */
  type: 'event-loops';
  /** Of the form of the answer. */
  version: 1;
  /** From the first record to the last. */
  durationNs: number;
  /** Turns that take at least so long are slow. */
  slowNs: number;
  /** Of main threads first. */
  loops: LoopRow[];
  /** What threads of libuv's pools did, by process and kind of work. */
  pool: PoolRow[];
  /** What the recording lacks for this answer. */
  notes: string[];
  /** What the kernel or the recorder lost. */
  loss: LossEntry[];
  /** What could not be read of the file. */
  damage: Damage[];
}

/** The event loop of one thread. */
export interface LoopRow {
  /** Its process and its thread. */
  pid: number;
  tid: number;
  /** Name of the thread. */
  comm: string;
  /** `main`: the first thread of its process; `worker`: another one that runs JavaScript. */
  role: 'main' | 'worker' | 'other';
  /** `no-wait`: it ran, and did not come back to its wait once. */
  state: 'turns' | 'no-wait';
  /** When it was seen first and last. */
  startNs: number;
  /** When it was seen last. */
  endNs: number;
  /** Whole turns. */
  turns: number;
  /** In turns, whole and cut ones, and in the wait of the loop. */
  busyNs: number;
  /** In the wait of the loop. */
  idleNs: number;
  /** Busy time of all that was seen. */
  busyPercent: number;
  /** Of whole turns; null where there are none. */
  lengths: { p50Ns: number; p90Ns: number; p99Ns: number; maxNs: number; meanNs: number } | null;
  /** Whole turns by length. */
  histogram: { fromNs: number; toNs: number | null; turns: number }[];
  /** Turns during which records were lost: not among `turns`, since each may be several. */
  doubtfulTurns: number;
  /** Their time together. */
  doubtfulNs: number;
  /** Waits of other loops inside of turns, as `spawnSync` has them. */
  nestedWaits: number;
  /** How many whole and cut turns were slow. */
  slowTurns: number;
  /** Their time together. */
  slowTurnsNs: number;
  /** Of all turns: what the thread did on the CPU, by sampling. */
  work: LoopShare[];
  /** Of all turns: what the thread waited for, longest first. */
  waits: LoopWait[];
  /** Of all turns: ready to run, while no CPU was free. */
  readyNs: number;
  /** Of all turns: waiting for something. */
  waitingNs: number;
  /** Functions by the time that slow turns spent in them, longest first. */
  blockers: LoopBlocker[];
  /** Longest first. */
  longest: LoopTurn[];
  /** Busy nanoseconds of each `binNs` from `startNs` on. */
  timeline: { binNs: number; busyNs: number[] };
}

/** A part of the time on the CPU. */
export interface LoopShare {
  /** `JavaScript`, `GC: scavenge`, `compile: TurboFan`, `builtin`, `native`, `kernel`. */
  name: string;
  /** Together. */
  timeNs: number;
  /** Of the time on the CPU, or of the turn. */
  percent: number;
}

/** Waits of a kind, by one function. */
export interface LoopWait {
  /** In words: `lock or condition`, `disk`, `child process`. */
  cause: string;
  /** The kernel's function in which the thread waited. */
  kernelFunction: string | null;
  /** Who waited. */
  function: LoopFunction | null;
  /** Who waited is inferred from what ran just before and after: the wait's own call chain ends in libc. */
  isInferred: boolean;
  /** Together. */
  timeNs: number;
  /** How often. */
  times: number;
}

/** A function that slow turns spent time in. */
export interface LoopBlocker extends LoopFunction {
  /** Together. */
  timeNs: number;
  /** How many slow turns it took the most time of. */
  turns: number;
  /** The longest of these turns. */
  longestTurnNs: number;
}

/** One turn of a loop, with what it did. */
export interface LoopTurn {
  /** How it was seen; of a pool, the kind of work. */
  kind: TurnKind;
  /** When it began. */
  startNs: number;
  /** How long it took. */
  lengthNs: number;
  /** On the CPU. */
  cpuNs: number;
  /** Of all turns: waiting for something. */
  waitingNs: number;
  /** Ready to run, while no CPU was free. */
  readyNs: number;
  /** The function that took most of it; null where nothing was seen of the turn. */
  function: LoopFunction | null;
  /** Who called it, from the function outwards. */
  stack: LoopFunction[];
  /** By time, at most five. */
  functions: (LoopFunction & { timeNs: number; percent: number })[];
  /** What was done on the CPU. */
  work: LoopShare[];
  /** What it waited for, longest first. */
  waits: LoopWait[];
  /** In order of time: what it did for how long; short parts of the same are one. */
  parts: LoopPart[];
}

/** What a turn did for a while. */
export interface LoopPart {
  /** Since the turn began. */
  startNs: number;
  /** How long it took. */
  lengthNs: number;
  /** Running, waiting or ready. */
  state: PartState;
  /** What was done on the CPU, or waited for; empty where nothing is known. */
  work: string;
  /** Name of the function. */
  function: string;
  /** The function is inferred from the parts before and after. */
  isInferred: boolean;
}

/** Work of one kind in the threads of a pool: time on the CPU, waiting, and ready to run. */
export interface PoolRow {
  /** Its process. */
  pid: number;
  /** How it was seen; of a pool, the kind of work. */
  kind: string;
  /** How many threads did it. */
  threads: number;
  /** On the CPU. */
  cpuNs: number;
  /** Of all turns: waiting for something. */
  waitingNs: number;
  /** Ready to run, while no CPU was free. */
  readyNs: number;
}

/** What of the turns is told. */
export interface LoopOptions {
  /** Turns that take at least so long are slow; default 20 ms. */
  slowNs?: number;
  /** How many of the longest turns are described; default 10. */
  limit?: number;
}
