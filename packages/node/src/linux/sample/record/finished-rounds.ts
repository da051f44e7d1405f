/**
 * Where the marks of finished rounds stand in a file, while records may still come that are older than those
 * before a mark. A reader that finds a mark delivers all that is as old as the newest record before the
 * *previous* mark, so each mark settles the time of the one before it:
 *
 *   marks at     10    20    30    40        a record of 15 comes:
 *                 |     |     x     x        the marks at 30 and 40 settle 20 and 30: both are taken back
 *
 * The next mark then settles what came up to 20, with the late record among it.
 */
export class FinishedRounds {
  /** Old to new: where the mark is, and when it was written. No record before it is younger. */
  readonly #offsets: number[] = [];
  readonly #timesNs: number[] = [];
  readonly #most: number;

  constructor(most = 8192) {
    this.#most = most;
  }

  /** A mark was written. Gives those to take back: every other one where there are too many to keep. */
  add(offset: number, timeNs: number): number[] {
    this.#offsets.push(offset);
    this.#timesNs.push(timeNs);
    if (this.#offsets.length <= this.#most) return [];
    const dropped = this.#offsets.filter((_, index) => index % 2 === 1);
    keepEven(this.#offsets);
    keepEven(this.#timesNs);
    return dropped;
  }

  /** A record of this time comes now. Gives the marks to take back. */
  settleAfter(timeNs: number): number[] {
    const takenBack: number[] = [];
    while (this.#offsets.length > 1 && this.#timesNs.at(-2)! >= timeNs) {
      takenBack.push(this.#offsets.pop()!);
      this.#timesNs.pop();
    }
    return takenBack;
  }

  /** The file was cut here. */
  cutAt(offset: number): void {
    while (this.#offsets.length > 0 && this.#offsets.at(-1)! >= offset) {
      this.#offsets.pop();
      this.#timesNs.pop();
    }
  }
}

function keepEven(values: number[]): void {
  const kept = Math.ceil(values.length / 2);
  for (let index = 0; index < kept; index++) values[index] = values[2 * index]!;
  values.length = kept;
}
