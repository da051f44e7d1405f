import type { ParsedEvent } from '@counterpoint/core/events';
import type { Sys } from '../../kernel/sys/index.ts';
import type { ControlData } from './control-data-types.ts';
import type { SwitchRule } from './switching.ts';
import type { CountingTarget, OverflowRequest } from './types.ts';

/** Events in perf's grammar, or parsed ones. */
export type EventList = string | readonly string[] | readonly ParsedEvent[];

/** An event set with a name of its own. */
export interface NamedSet {
  /** The text of its events where it has no other. */
  name?: string;
  /** The events of the set, counted at the same time. */
  events: EventList;
}

/** What is counted. */
export interface ControlRequest {
  /** One set; beside `sets` the first of them. */
  events?: EventList;
  /** Several, of which one at a time is loaded. */
  sets?: readonly (EventList | NamedSet)[];
  /** Events that notify when they have counted their period. */
  overflows?: readonly OverflowRequest[];
  /** When the next of several sets is loaded; by hand where it is absent. */
  switching?: SwitchRule;
  /** Control data that this was made of and that has more than is known here: saved again, that is kept. */
  madeOf?: ControlData;
}

/** What is counted, on which target, and how. */
export interface CountingRequest extends ControlRequest {
  /** Whose events are counted. */
  target: CountingTarget;
  /**
   * Count threads and processes that the target starts from now on. Default: true, and false where an
   * overflow suspends, with which true is refused. `self` is always the calling thread alone.
   */
  inherit?: boolean;
  /** Whose code is counted: the user's, the kernel's or both. Default: `all`. */
  levels?: 'all' | 'user' | 'kernel';
  /** Each group has its counters at all times, or is not counted. */
  pinned?: boolean;
  /**
   * No other events on the PMU while a group of these is; `require` also pins, and is refused while
   * another program requires it.
   */
  exclusive?: boolean | 'require';
  /** The command's exec starts the counters (default for a held command). */
  enableOnExec?: boolean;
  /** kernel.perf_event_paranoid; read when absent. */
  paranoid?: number | null;
  /** @internal */
  sys?: Sys;
}
