/** Something a person should know about an answer, such as names that are missing. JSON as it stands. */
export interface Diagnostic {
  /** Stable, for programs: `build-id-mismatch`, `not-found`, ... */
  code: string;
  /** The file that it is about. */
  path: string;
  /** What happened. */
  detail: string;
  /** What to do about it; empty where there is nothing. */
  remedy: string;
}
