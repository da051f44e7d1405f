/** One step of a long operation. `total` is 0 where it is not known. */
export interface Progress {
  /** What is done at the moment, in one word. */
  phase: string;
  /** How much of it is done, in the unit of `total`. */
  done: number;
  /** How much there is; 0 where it is not known. */
  total: number;
}

/** Called now and then with how far a long operation is. */
export type ProgressListener = (progress: Progress) => void;
