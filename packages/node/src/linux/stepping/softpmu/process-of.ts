import { readFileSync } from 'node:fs';

/** The process of a thread; of one that is gone, its own number. */
export function processOf(tid: number): number {
  try {
    return Number(/^Tgid:\t(\d+)/m.exec(readFileSync(`/proc/${tid}/status`, 'latin1'))?.[1] ?? tid);
  } catch {
    return tid;
  }
}
