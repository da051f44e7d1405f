/** One step of a long operation. `total` is 0 where it is not known. */
export interface Progress {
  phase: string;
  done: number;
  total: number;
}

export type ProgressListener = (progress: Progress) => void;
