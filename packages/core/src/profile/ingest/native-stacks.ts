/**
 * Stacks of programs as their functions called each other. An optimising compiler puts functions into those
 * that call them; one address is then a piece of a stack:
 *
 *     recorded   main ─ sort              address in sort, at 0x41
 *     known      0x41 is of `less`, inlined into `sift`, inlined into `sort`
 *     made       main ─ sort ─ sift (inlined) ─ less (inlined)
 */
import { TripleTable } from '../../base/index.ts';
import type { SourceFrame } from '../../code/symbols/index.ts';
import { NONE, type Profile } from '../tables/index.ts';
import type { NativeSources } from './native-sources.ts';
import { CALLING, INTERRUPTED, isUserFrame, stackUses } from './stack-uses.ts';

/** perf's mark for a function that exists only in debug information. */
const INLINED_SUFFIX = ' (inlined)';

/**
 * Gives frames their lines, and with `isInlined` stacks the functions that were inlined. The table of stacks
 * is made anew, and with it the rows that samples refer to.
 */
export function addNativeSources(profile: Profile, sources: NativeSources, isInlined: boolean): void {
  new NativeStacks(profile, sources, isInlined).make();
}

class NativeStacks {
  readonly #profile: Profile;
  readonly #sources: NativeSources;
  readonly #isInlined: boolean;
  readonly #rows: TripleTable;
  readonly #frames = new TripleTable();
  readonly #newFrames: number[] = [];
  /** Rows of symbols of inlined functions, by binary and name. */
  readonly #inlined = new TripleTable();
  readonly #inlinedRows: number[] = [];

  constructor(profile: Profile, sources: NativeSources, isInlined: boolean) {
    this.#profile = profile;
    this.#sources = sources;
    this.#isInlined = isInlined;
    this.#rows = new TripleTable(profile.stacks.length);
  }

  make(): void {
    const { samples, stacks } = this.#profile;
    const prefixes = stacks.prefix.view().slice();
    const frames = stacks.frame.view().slice();
    const uses = stackUses(this.#profile, prefixes, frames);
    stacks.prefix.length = 0;
    stacks.frame.length = 0;
    // Of each row, where its frame was interrupted, and where it had called the next one.
    const interrupted = new Int32Array(prefixes.length).fill(NONE);
    const calling = new Int32Array(prefixes.length).fill(NONE);
    for (let row = 0; row < prefixes.length; row++) {
      const frame = frames[row]!;
      const prefix = prefixes[row]!;
      const ends = isUserFrame(this.#profile, frame) ? calling : interrupted;
      const outer = prefix === NONE ? NONE : ends[prefix]!;
      if ((uses[row]! & INTERRUPTED) !== 0) interrupted[row] = this.#add(outer, frame, false);
      if ((uses[row]! & CALLING) !== 0) calling[row] = this.#add(outer, frame, true);
    }
    for (let row = 0; row < samples.length; row++) {
      const stack = samples.stack.at(row);
      if (stack !== NONE) samples.stack.data[row] = interrupted[stack]!;
    }
  }

  /** The row of `outer` with a frame, and with what was inlined at its address. */
  #add(outer: number, frame: number, isCalling: boolean): number {
    const known = this.#sources.at(frame, isCalling);
    if (known.length === 0) return this.#row(outer, frame);
    if (!this.#isInlined) return this.#row(outer, this.#frameAt(frame, null, known[0]!));
    // The function itself has the name of its symbol.
    let row = this.#row(outer, this.#frameAt(frame, null, known.at(-1)!));
    for (let at = known.length - 2; at >= 0; at--)
      row = this.#row(row, this.#frameAt(frame, known[at]!.functionName, known[at]!));
    return row;
  }

  #row(prefix: number, frame: number): number {
    const row = this.#rows.find(prefix, frame, 0);
    if (row >= 0) return row;
    const { stacks } = this.#profile;
    stacks.prefix.push(prefix);
    stacks.frame.push(frame);
    return -1 - row;
  }

  /** The same address, as that of a line and of a function inlined there. */
  #frameAt(frame: number, inlined: string | null, place: SourceFrame): number {
    const { frames } = this.#profile;
    const source = this.#sources.rowOf(place);
    if (inlined === null && source === NONE) return frame;
    const symbol =
      inlined === null ? frames.symbol.at(frame) : this.#symbol(frames.binary.at(frame), inlined);
    const row = this.#frames.find(frame, symbol, source);
    if (row >= 0) return this.#newFrames[row]!;
    const added = frames.addLike(frame, { source, symbol });
    this.#newFrames.push(added);
    return added;
  }

  #symbol(binary: number, functionName: string): number {
    const { symbols, strings } = this.#profile;
    const name = strings.intern(`${functionName || '[unknown]'}${INLINED_SUFFIX}`);
    const row = this.#inlined.find(binary, name, 0);
    if (row >= 0) return this.#inlinedRows[row]!;
    symbols.binary.push(binary);
    this.#inlinedRows.push(symbols.name.push(name));
    return this.#inlinedRows.at(-1)!;
  }
}
