/**
 * `absent`: it does not exist here. `forbidden`: it does, but not for us.
 * `unknown`: it could not be found out.
 */
export type CheckState = 'ok' | 'absent' | 'forbidden' | 'unknown';

export interface Check {
  name: string;
  state: CheckState;
  /** What was found, in one sentence. */
  why: string;
  /** What to do about it, one line per way; empty where there is nothing to do. */
  fix: string;
  /** Lines for those who ask for everything. */
  more?: readonly string[];
  /** Where it is well, only those who ask for everything are shown it. */
  isDetail?: boolean;
  /** The same for programs: numbers and names, by keys that stay. */
  facts?: Readonly<Record<string, Fact>>;
}

export type Fact = null | boolean | number | string | readonly Fact[] | { readonly [key: string]: Fact };
