import type { Damage } from '../../base/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';
import type { TurnKind } from './kept-turns.ts';
import type { PartState } from './turn-parts.ts';

/** A function as a row names it. */
export interface LoopFunction {
  /** Its name, as its author writes it. */
  name: string;
  /** Of JavaScript, the file that it is in, as far as its runtime says it; else null. */
  file: string | null;
  /** The line of its parameters, from 1; null where it is not known. */
  line: number | null;
  /** The column of its parameters, from 1; null where it is not known. */
  column: number | null;
}

/** Nanoseconds are whole numbers; times count from the beginning of the recording. */
export interface LoopsAnswer {
  /** What the answer is. */
  type: 'event-loops';
  /** Version of the form of the answer. */
  version: 1;
  /** From the first record to the last. */
  durationNs: number;
  /** Turns that take at least so long are slow. */
  slowNs: number;
  /** Loops by thread: those of main threads first. */
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
  /** Its process. */
  pid: number;
  /** Its thread. */
  tid: number;
  /** Name of the thread. */
  comm: string;
  /**
   * `main`: the first thread of its process; `worker`: another one that runs JavaScript; `other`: the rest.
   */
  role: 'main' | 'worker' | 'other';
  /** `turns`: it waited, as loops do. `no-wait`: it ran, and did not come to its wait once. */
  state: 'turns' | 'no-wait';
  /** When it was seen first. */
  startNs: number;
  /** When it was seen last. */
  endNs: number;
  /** How many whole turns it made. */
  turns: number;
  /** Time in turns: whole, cut and doubtful ones. */
  busyNs: number;
  /** Time in the wait of the loop. */
  idleNs: number;
  /** Share of busy time in busy and idle time, in percent. */
  busyPercent: number;
  /** How long whole turns took: percentiles, longest, mean; null if there are none. */
  lengths: { p50Ns: number; p90Ns: number; p99Ns: number; maxNs: number; meanNs: number } | null;
  /** How many whole turns took from `fromNs` to less than `toNs` (null: without an end). */
  histogram: { fromNs: number; toNs: number | null; turns: number }[];
  /** Turns during which records were lost: not among `turns`, since each may be several. */
  doubtfulTurns: number;
  /** Time of the doubtful turns together. */
  doubtfulNs: number;
  /** Waits of other loops inside of turns, as `spawnSync` has them. */
  nestedWaits: number;
  /** How many whole and cut turns were slow. */
  slowTurns: number;
  /** Time of the slow turns together. */
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
  /** The longest turns, the longest first: as many as `LoopOptions.limit`. */
  longest: LoopTurn[];
  /** Busy nanoseconds of each `binNs` from `startNs` on. */
  timeline: { binNs: number; busyNs: number[] };
}

/** A part of the time on the CPU. */
export interface LoopShare {
  /** `JavaScript`, `GC: scavenge`, `compile: TurboFan`, `builtin`, `native`, `kernel`. */
  name: string;
  /** How long it took, all together. */
  timeNs: number;
  /** Share of the time on the CPU, or of the turn. */
  percent: number;
}

/** Waits of a kind, by one function. */
export interface LoopWait {
  /** In words: `lock or condition`, `disk`, `child process`. */
  cause: string;
  /** The kernel's function in which the thread waited. */
  kernelFunction: string | null;
  /** The function that waited; null where it is not known. */
  function: LoopFunction | null;
  /** Who waited is inferred from what ran just before and after: the wait's own call chain ends in libc. */
  isInferred: boolean;
  /** How long these waits took, all together. */
  timeNs: number;
  /** How many waits there were. */
  times: number;
}

/** A function that slow turns spent time in. */
export interface LoopBlocker extends LoopFunction {
  /** Time that slow turns spent in it, all together. */
  timeNs: number;
  /** How many slow turns it took the most time of. */
  turns: number;
  /** The longest of these turns. */
  longestTurnNs: number;
}

/** One turn of a loop, with what it did. */
export interface LoopTurn {
  /** How it was seen: whole (`turn`), to the first wait (`start`), to the thread's end (`end`), or `cut`. */
  kind: TurnKind;
  /** When it began. */
  startNs: number;
  /** How long it took. */
  lengthNs: number;
  /** Time on the CPU. */
  cpuNs: number;
  /** Time waiting for something. */
  waitingNs: number;
  /** Time ready to run, while no CPU was free. */
  readyNs: number;
  /** The function that took most of it; null where nothing was seen of the turn. */
  function: LoopFunction | null;
  /** Who called it, from the function outwards. */
  stack: LoopFunction[];
  /** Functions by the time that the turn spent in them, at most five. */
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
  /** Kind of work. */
  kind: string;
  /** How many threads did it. */
  threads: number;
  /** Time on the CPU, of all threads together. */
  cpuNs: number;
  /** Time waiting for something. */
  waitingNs: number;
  /** Time ready to run, while no CPU was free. */
  readyNs: number;
}

/** What of the turns is told. */
export interface LoopOptions {
  /** Turns that take at least so long are slow; default 20 ms. */
  slowNs?: number;
  /** How many of the longest turns are described; default 10. */
  limit?: number;
}
