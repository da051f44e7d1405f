import type { Diagnostic } from '@counterpoint/core/base';
import type { LossEntry } from '@counterpoint/core/loss';
import type { Profile } from '@counterpoint/core/profile';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import type { Sys } from '../../../kernel/sys/index.ts';
import type { ExitStatus } from '../../../kernel/target/index.ts';
import type { RecordOptions } from '../options.ts';

/** The target, what to sample, and how often to look. Without a target: everything that runs. */
export interface LiveProfileOptions
  extends Pick<
    RecordOptions,
    | 'command'
    | 'pids'
    | 'tids'
    | 'systemWide'
    | 'cpus'
    | 'events'
    | 'frequency'
    | 'period'
    | 'levels'
    | 'inherit'
    | 'nodeNames'
    | 'launch'
    | 'commandGraceMs'
  > {
  /** @internal */
  sys?: Sys;
  /** Milliseconds from one look to the next; default 2000. */
  intervalMs?: number;
  /**
   * The share of what was counted before that still counts in the next table. Default 7/8, as in `perf top`:
   * what is over fades away within half a minute. 0: each table is for itself. 1: nothing is forgotten.
   */
  keepShare?: number;
  /**
   * How long a look may wait for names, whose files may be large; the next one has
   * the rest. Default Infinity.
   */
  nameWaitMs?: number;
  /** Where names come from; default the files of this machine. */
  symbols?: SymbolDriver;
}

/** Why there will be no more. */
export interface LiveEnd {
  /** What ended it: `stop()`, the end of the command, or the end of the last process or thread. */
  readonly reason: 'stopped' | 'command-exited' | 'target-ended';
  /** How the command ended; null without one. */
  readonly exit: ExitStatus | null;
}

/** One look. */
export interface LiveRefresh {
  /** Which look it is, from 1. */
  readonly number: number;
  /** Milliseconds since the look before, or the start. */
  readonly elapsedMs: number;
  /**
   * For `topFunctions` and all that reads profiles. *Borrowed*: the next look changes it.
   */
  readonly profile: Profile;
  /** Samples since the look before, as far as CPUs had an overflow since to hand them over. */
  readonly samples: number;
  /** How many of the samples fell into the kernel. */
  readonly kernelSamples: number;
  /** Since the look before: overflows that were not counted; what is known of them all is in `losses`. */
  readonly lost: number;
  /** What was lost since the start. */
  readonly losses: readonly LossEntry[];
  /** Since the look before, in the kernel: time of the handler; null where it was not measured. */
  readonly handlerNs: number | null;
  /** Since the look before: time that reading the counts took. Counting goes on meanwhile. */
  readonly readNs: number;
  /** What could not be named, and what to do about it. */
  readonly diagnostics: readonly Diagnostic[];
  /** Names are still being looked for: what has none yet is shown by its address. */
  readonly isNaming: boolean;
  /** Set in the last one. */
  readonly end: LiveEnd | null;
}
