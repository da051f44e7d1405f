/** What is otherwise than the caller may think. */
export interface SelfMonitoringNote {
  /** What was done. It is stable, for programs. */
  kind: /** Counts leave the kernel's part out. */
    | 'kernel-excluded'
    /** A group was opened in parts, so its events do not count in the same moments. */
    | 'group-split'
    /** Why counters are read by a system call. */
    | 'no-user-access'
    /** An event of the default choice that this machine does not have. */
    | 'event-dropped'
    | 'limit-raised'
    /** An event shared its counter, and is scaled; or it never ran. */
    | 'multiplexed'
    | 'not-counted'
    /** The measurement's own cost was more than what it measured. */
    | 'below-overhead'
    /** What the figures of an asynchronous function contain, and what not. */
    | 'asynchronous';
  /** What was done and why, as a sentence for a person. */
  text: string;
}
