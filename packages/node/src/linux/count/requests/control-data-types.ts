/**
 * What is counted and when sets switch, as JSON that programs of other versions read and write, too:
 *
 *   version   of the program that wrote it; a higher one may have fields that are not known here
 *   needs     the version from which on a reader understands all that matters; a reader of a lower one refuses
 *
 * Fields that are not known here are kept where they stand, and written again.
 */
export interface ControlData {
  /** Marks the JSON as control data. */
  type: 'control-data';
  /** Version of the format that the writer knows. */
  version: number;
  /** The lowest version that understands all that matters. A reader of a lower version refuses the data. */
  needs: number;
  /** The event sets, in the order in which they are loaded. */
  sets: ControlSet[];
  /** When the next set is loaded. Absent: by hand. */
  switch?: ControlSwitch;
  /** Events that report that they have counted N. */
  overflows?: ControlOverflow[];
  /** Count threads and processes that the target starts. Default: as `CountingRequest.inherit`. */
  inherit?: boolean;
  /** Whose code is counted: the user's, the kernel's or both. Default: `all`. */
  levels?: 'all' | 'user' | 'kernel';
  /** Each group always has its counters, or is not counted at all. Default: false. */
  pinned?: boolean;
  /**
   * No other events use the PMU while a group of these counts; `require` also refuses a second user. Default:
   * false.
   */
  exclusive?: boolean | 'require';
  /** Fields of newer versions. They are kept, and written again. */
  [unknown: string]: unknown;
}

/** One event set of control data. */
export interface ControlSet {
  /** The name of the set, unique among the sets. */
  name: string;
  /** In perf's grammar. */
  events: string;
  /** Fields of newer versions. They are kept, and written again. */
  [unknown: string]: unknown;
}

/** 64-bit numbers are decimal strings. */
export type ControlSwitch = {
  /** What loads the next set: a call of `next()`, a slice of time, or an overflow. */
  by: 'manual' | 'time' | 'overflow';
  /** Of `time`: how long each set stays loaded, in milliseconds. */
  sliceMs?: number;
  /** Of `overflow`: the event whose counts end a set. */
  event?: string;
  /** Of `overflow`: how many counts end a set. */
  count?: string;
  [unknown: string]: unknown;
};

/** An overflow of control data: the fields of `OverflowRequest`, with 64-bit numbers as decimal strings. */
export interface ControlOverflow {
  /** The event, by the name with which it was requested. */
  event: string;
  /** How many counts make one overflow. */
  period: string;
  /** How many counts make the first overflow. Default: `period`. */
  initialPeriod?: string;
  /** A random number of these bits is added to each period but the first. Default: 0, none. */
  randomMask?: number;
  /** `notify` goes on counting, `suspend` stops the event and its group. Default: `notify`. */
  action?: 'notify' | 'suspend';
  /** Fields of newer versions. They are kept, and written again. */
  [unknown: string]: unknown;
}

/** How the target is counted, beyond what is counted. */
export interface ControlOptions {
  /** Count threads and processes that the target starts. Default: as `CountingRequest.inherit`. */
  inherit?: boolean;
  /** Whose code is counted: the user's, the kernel's or both. Default: `all`. */
  levels?: 'all' | 'user' | 'kernel';
  /** Each group always has its counters, or is not counted at all. Default: false. */
  pinned?: boolean;
  /**
   * No other events use the PMU while a group of these counts; `require` also refuses a second user. Default:
   * false.
   */
  exclusive?: boolean | 'require';
}
