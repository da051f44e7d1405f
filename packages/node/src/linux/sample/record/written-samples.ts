import { REMEMBERED_ROUNDS } from './output.ts';

/**
 * Where in the output the latest samples begin: an output that takes no more is cut back to the end of a
 * round, and what stood behind it is not in the recording.
 *
 *   … round ─┬─ round ─┬─ half a round
 *            │         └── end of the last whole one: samples behind it are told as missing
 */
export class WrittenSamples {
  /** The latest rounds, oldest first. */
  readonly #rounds: { begin: number; samplesBefore: number }[] = [];
  /** The latest samples of formats, oldest first. */
  readonly #formatPieces: { begin: number; samples: number }[] = [];

  /** A round begins at this place, when this many samples have been written. */
  beginRound(begin: number, samplesBefore: number): void {
    this.#rounds.push({ begin, samplesBefore });
    if (this.#rounds.length > REMEMBERED_ROUNDS) this.#rounds.shift();
  }

  addFormatPiece(begin: number, samples: number): void {
    this.#formatPieces.push({ begin, samples });
    if (this.#formatPieces.length > REMEMBERED_ROUNDS) this.#formatPieces.shift();
  }

  /** Of `samples` in all, those that were written and then cut off again at `roundsEnd`. */
  after(roundsEnd: number, samples: number): number {
    const cut = this.#rounds.find(({ begin }) => begin >= roundsEnd);
    const ofRounds = cut === undefined ? 0 : samples - cut.samplesBefore;
    return this.#formatPieces.reduce(
      (sum, piece) => (piece.begin >= roundsEnd ? sum + piece.samples : sum),
      ofRounds,
    );
  }
}
