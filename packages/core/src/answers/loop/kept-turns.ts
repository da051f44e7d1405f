/** What a turn is, by how it was seen. */
export type TurnKind =
  /** From the return of a wait to the next wait. */
  | 'turn'
  /** From the start of the thread to its first wait: loading, the program's top level. */
  | 'start'
  /** The thread ended in it. */
  | 'end'
  /** It had begun before the recording, or had not ended with it. */
  | 'cut';

export interface SeenTurn {
  kind: TurnKind;
  /** Since the recording's base time. */
  startNs: number;
  endNs: number;
}

const MOST_KEPT = 1 << 16;

/**
 * The longest turns, in order of time. Where there are too many, the shorter half of them is forgotten:
 * how many there were and how long they took is in the histogram.
 */
export class KeptTurns {
  #turns: SeenTurn[] = [];
  #leastNs = -1;

  add(turn: SeenTurn): void {
    if (turn.kind === 'turn' && turn.endNs - turn.startNs <= this.#leastNs) return;
    this.#turns.push(turn);
    if (this.#turns.length < MOST_KEPT) return;
    const lengths = Float64Array.from(this.#turns, ({ startNs, endNs }) => endNs - startNs).sort();
    this.#leastNs = lengths[lengths.length >> 1]!;
    // Turns of equal length may be more than half of all.
    this.#turns = this.#turns.filter(
      ({ kind, startNs, endNs }) => kind !== 'turn' || endNs - startNs > this.#leastNs,
    );
  }

  get list(): readonly SeenTurn[] {
    return this.#turns;
  }
}
