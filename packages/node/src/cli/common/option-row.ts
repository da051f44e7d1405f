/** One option of a verb: a row of its table, from which parsing and help are both made. */
export interface OptionRow<Name extends string = string> {
  /** Without dashes. A name of one letter has no `--` form (perf's `record -g`). */
  readonly long: Name;
  readonly short?: string;
  /** Placeholder of the value in help; absent for a switch. */
  readonly value?: string;
  readonly help: string;
  /** Each use adds a value; else the last one counts. */
  readonly repeat?: boolean;
  /** `--no-NAME` exists and says the opposite. */
  readonly negatable?: boolean;
  /**
   * The value may be left out, and is then this one. A value must be attached:
   * `-z9`, `--compression-level=9`.
   */
  readonly optionalValue?: string;
  /**
   * With `optionalValue`: the next word is the value too, unless it begins with a dash
   * (perf's `report -g caller`). A list: only if it is one of these, so that a file may follow, too.
   */
  readonly valueMayFollow?: boolean | readonly string[];
  /**
   * An empty value says something, too. Else it is refused: `--pid=$PID` without a PID would mean everybody.
   */
  readonly mayBeEmpty?: boolean;
  /** Heading in help. */
  readonly group?: string;
  /** The left side of its line in help, where one line stands for several rows. */
  readonly shown?: string;
  /** Understood, but not in help. */
  readonly hidden?: boolean;
}

export type CommonName = 'help' | 'verbose';

/** Options of every verb, after its own. A verb that lists the same letter keeps it for itself. */
export const COMMON_OPTIONS: readonly OptionRow<CommonName>[] = [
  { long: 'verbose', short: 'v', help: 'say more; print the stack of an unexpected error', group: 'General' },
  { long: 'help', short: 'h', help: 'print this help', group: 'General' },
];
