import { NONE, type Profile } from '../../profile/tables/index.ts';
import { NO_SYMBOL, symbolTest } from '../query/frame-filter.ts';
import { Functions } from '../query/functions.ts';

/** Which samples were in one of some functions. Each frame is looked at once, after its symbol is known. */
export class WantedSamples {
  readonly #profile: Profile;
  readonly #symbols: ReadonlySet<string>;
  readonly #byFrame = new Map<number, boolean>();

  constructor(profile: Profile, symbols: ReadonlySet<string>) {
    this.#profile = profile;
    this.#symbols = symbols;
  }

  /** By the innermost function of a stack; its callers do not matter, as in `perf script -S`. */
  has(stack: number): boolean {
    if (stack === NONE) return this.#symbols.has(NO_SYMBOL);
    const frame = this.#profile.stacks.frame.at(stack);
    let found = this.#byFrame.get(frame);
    if (found === undefined) {
      const functions = new Functions(this.#profile);
      found = symbolTest(functions, this.#symbols)(functions.ofFrame(frame));
      this.#byFrame.set(frame, found);
    }
    return found;
  }
}
