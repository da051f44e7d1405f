import { toSignedFloat } from '../../base/index.ts';
import { MOST_RANGE_BYTES } from '../../profile/ingest/index.ts';
import type { Float64Column, Int32Column, Profile } from '../../profile/tables/index.ts';

/** Distances above this do not matter: so addresses of all binaries fit into one line of doubles. */
const MOST_DISTANCE = 2 * MOST_RANGE_BYTES;

/** Frames in the order of their code: one binary after the other, each by address. */
export class CodeOrder {
  readonly #at: Float64Array;

  constructor({ frames }: Profile) {
    const addresses = Float64Array.from({ length: frames.length }, (_, frame) =>
      toSignedFloat(frames.addressLo.at(frame) >>> 0, frames.addressHi.at(frame)),
    );
    const ordered = Uint32Array.from(addresses, (_, frame) => frame).sort(
      (a, b) => frames.binary.at(a) - frames.binary.at(b) || addresses[a]! - addresses[b]!,
    );
    this.#at = new Float64Array(frames.length);
    let place = 0;
    ordered.forEach((frame, index) => {
      const before = ordered[index - 1];
      if (before !== undefined) {
        const isSame = frames.binary.at(before) === frames.binary.at(frame);
        place += isSame ? Math.min(addresses[frame]! - addresses[before]!, MOST_DISTANCE) : MOST_DISTANCE;
      }
      this.#at[frame] = place;
    });
  }

  /** Its place; places that are at most `MOST_RANGE_BYTES` apart are as far apart as their addresses. */
  of(frame: number): number {
    return this.#at[frame]!;
  }
}

/** Rows of an event in the order of the code that a column names. */
export class RowsInOrder {
  readonly #rows: number[] = [];
  readonly #places: Float64Array;

  constructor(events: Int32Column, frames: Int32Column, event: number, code: CodeOrder) {
    for (let row = 0; row < events.length; row++) if (events.at(row) === event) this.#rows.push(row);
    this.#rows.sort((a, b) => code.of(frames.at(a)) - code.of(frames.at(b)));
    this.#places = Float64Array.from(this.#rows, (row) => code.of(frames.at(row)));
  }

  /** The rows whose code is at these places or between them. */
  *between(first: number, last: number): Generator<number> {
    let low = 0;
    for (let high = this.#places.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.#places[middle]! < first) low = middle + 1;
      else high = middle;
    }
    for (; low < this.#rows.length && this.#places[low]! <= last; low++) yield this.#rows[low]!;
  }

  sumOf(column: Float64Column): number {
    return this.#rows.reduce((sum, row) => sum + column.at(row), 0);
  }
}
