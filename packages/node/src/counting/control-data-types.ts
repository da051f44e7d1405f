/**
 * What is counted and when sets switch, as JSON that programs of other versions read and write, too:
 *
 *   version   of the program that wrote it; a higher one may have fields that are not known here
 *   needs     the version from which on a reader understands all that matters; a reader of a lower one refuses
 *
 * Fields that are not known here are kept where they stand, and written again.
 */
export interface ControlData {
  type: 'control-data';
  version: number;
  needs: number;
  sets: ControlSet[];
  switch?: ControlSwitch;
  overflows?: ControlOverflow[];
  inherit?: boolean;
  levels?: 'all' | 'user' | 'kernel';
  pinned?: boolean;
  exclusive?: boolean | 'require';
  [unknown: string]: unknown;
}

export interface ControlSet {
  name: string;
  /** In perf's grammar. */
  events: string;
  [unknown: string]: unknown;
}

/** 64-bit numbers are decimal strings. */
export type ControlSwitch = {
  by: 'manual' | 'time' | 'overflow';
  sliceMs?: number;
  event?: string;
  count?: string;
  [unknown: string]: unknown;
};

export interface ControlOverflow {
  event: string;
  period: string;
  initialPeriod?: string;
  randomMask?: number;
  action?: 'notify' | 'suspend';
  [unknown: string]: unknown;
}

/** How the target is counted, beyond what is counted. */
export interface ControlOptions {
  inherit?: boolean;
  levels?: 'all' | 'user' | 'kernel';
  pinned?: boolean;
  exclusive?: boolean | 'require';
}
