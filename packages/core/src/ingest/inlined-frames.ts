/**
 * Optimised JavaScript holds the code of the functions that it calls. One address in it is then a piece of a
 * stack, and a sample gets the frames that the compiler took away:
 *
 *     recorded   main ─ outer              address in outer, offset 0x41
 *     known      0x41 is of `inner`, called by `middle`, called by `outer`
 *     made       main ─ outer ─ middle ─ inner
 */
import { TripleTable } from '../base/index.ts';
import { type InlinedCode, inlinedCallsAt } from '../jit/index.ts';
import { MODE_USER, NONE, type Profile } from '../profile/index.ts';

/** What is known of code: by row of `Profile.jitCode`. */
export interface InlinedFunctions {
  codeAt(jitCode: number): InlinedCode | null;
  /** Row of `Profile.symbols`. */
  symbolOf(binary: number, functionName: string): number;
}

/**
 * Gives the samples whole stacks. The table of stacks is made anew, and with it
 * the rows that samples refer to.
 */
export function expandInlined(profile: Profile, known: InlinedFunctions): void {
  new InlinedFrames(profile, known).expand();
}

class InlinedFrames {
  readonly #profile: Profile;
  readonly #known: InlinedFunctions;
  readonly #frames = new TripleTable();
  readonly #newFrames: number[] = [];

  constructor(profile: Profile, known: InlinedFunctions) {
    this.#profile = profile;
    this.#known = known;
  }

  expand(): void {
    const { samples, stacks } = this.#profile;
    const prefixes = stacks.prefix.view().slice();
    const frames = stacks.frame.view().slice();
    stacks.prefix.length = 0;
    stacks.frame.length = 0;
    const rows = new TripleTable(prefixes.length);
    // Of each row, where its frame was interrupted, and where it had called the next one.
    const interrupted = new Int32Array(prefixes.length).fill(NONE);
    const calling = new Int32Array(prefixes.length).fill(NONE);
    const uses = this.#uses(prefixes, frames);
    for (let row = 0; row < prefixes.length; row++) {
      const prefix = prefixes[row]!;
      const frame = frames[row]!;
      const outer = prefix === NONE ? NONE : (this.#isUser(frame) ? calling : interrupted)[prefix]!;
      if ((uses[row]! & INTERRUPTED) !== 0) interrupted[row] = this.#stackRow(rows, outer, frame, false);
      if ((uses[row]! & CALLING) !== 0) calling[row] = this.#stackRow(rows, outer, frame, true);
    }
    for (let row = 0; row < samples.length; row++) {
      const stack = samples.stack.at(row);
      if (stack !== NONE) samples.stack.data[row] = interrupted[stack]!;
    }
  }

  /** How rows are used: by samples, and by the rows further in. */
  #uses(prefixes: Int32Array, frames: Int32Array): Uint8Array {
    const { samples } = this.#profile;
    const uses = new Uint8Array(prefixes.length);
    for (let row = 0; row < samples.length; row++) {
      const stack = samples.stack.at(row);
      if (stack !== NONE) uses[stack] = INTERRUPTED;
    }
    for (let row = prefixes.length - 1; row >= 0; row--) {
      const prefix = prefixes[row]!;
      if (prefix === NONE || uses[row] === 0) continue;
      uses[prefix]! |= this.#isUser(frames[row]!) ? CALLING : INTERRUPTED;
    }
    return uses;
  }

  /** Frames of the kernel stand on the instruction that was interrupted; those of the program on a call. */
  #isUser(frame: number): boolean {
    return this.#profile.frames.mode.at(frame) === MODE_USER;
  }

  /** The row of `outer` and all that is at the frame's address. */
  #stackRow(rows: TripleTable, outer: number, frame: number, isCalling: boolean): number {
    const { frames, stacks } = this.#profile;
    let prefix = outer;
    const add = (one: number) => {
      const row = rows.find(prefix, one, 0);
      if (row < 0) {
        stacks.prefix.push(prefix);
        stacks.frame.push(one);
      }
      prefix = row < 0 ? -1 - row : row;
    };
    add(frame);
    const code = frames.jitCode.at(frame);
    const known = code === NONE ? null : this.#known.codeAt(code);
    if (known === null) return prefix;
    // A return address is that of the next instruction, which may be of another function.
    const offset = frames.symbolOffset.at(frame) - (isCalling ? 1 : 0);
    const calls = inlinedCallsAt(known, offset) ?? [];
    for (let at = calls.length - 1; at >= 0; at--)
      add(this.#inlinedFrame(frame, known.calls[calls[at]!]!.functionName));
    return prefix;
  }

  /** The same address, as that of the function whose code it is. */
  #inlinedFrame(frame: number, functionName: string): number {
    const { frames } = this.#profile;
    const symbol = this.#known.symbolOf(frames.binary.at(frame), functionName);
    const row = this.#frames.find(frame, symbol, 0);
    if (row >= 0) return this.#newFrames[row]!;
    frames.symbol.push(symbol);
    frames.binary.push(frames.binary.at(frame));
    frames.addressLo.push(frames.addressLo.at(frame));
    frames.addressHi.push(frames.addressHi.at(frame));
    frames.symbolOffset.push(0);
    frames.mode.push(frames.mode.at(frame));
    this.#newFrames.push(frames.jitCode.push(frames.jitCode.at(frame)));
    return this.#newFrames.at(-1)!;
  }
}

const INTERRUPTED = 1;
const CALLING = 2;
