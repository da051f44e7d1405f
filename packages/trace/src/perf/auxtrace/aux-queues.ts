import type { AuxPiece } from './aux-index.ts';

/** What one ring wrote: the trace of a CPU, or of a thread wherever it ran. */
export interface AuxQueue {
  cpu: number;
  tid: number;
  /** In the order in which they were written. */
  pieces: AuxPiece[];
}

/** Pieces by ring. A ring that is said to be another CPU's or thread's in the middle is another one. */
export function auxQueues(pieces: readonly AuxPiece[]): AuxQueue[] {
  const queues = new Map<string, AuxQueue>();
  for (const piece of pieces) {
    const key = `${piece.index} ${piece.cpu} ${piece.tid}`;
    const queue = queues.get(key);
    if (queue === undefined) queues.set(key, { cpu: piece.cpu, tid: piece.tid, pieces: [piece] });
    else queue.pieces.push(piece);
  }
  return [...queues.values()];
}
