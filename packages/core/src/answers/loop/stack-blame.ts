import { engineWork } from '../../profile/javascript/index.ts';
import { MODE_KERNEL, NONE, type Profile } from '../../profile/tables/index.ts';
import type { Functions } from '../query/functions.ts';
import type { LoopFunction } from './loop-answer.ts';

/** JavaScript of Node itself: who called it is to blame. */
const RUNTIME_SOURCE = 'node:';
const MOST_CALLERS = 40;
/** The C library, through which every program waits. */
const LIBRARY = /^(?:libc[.-]|libpthread[.-]|ld-linux|ld-musl)/;

/**
 * Who is to blame for a stack that `viewJavascript` has made: the innermost function of the program's own
 * JavaScript; else one of Node's; else the innermost function.
 */
export class StackBlame {
  readonly #profile: Profile;
  readonly #functions: Functions;
  readonly #rows = new Map<number, number>();
  readonly #scripts = new Map<number, boolean>();

  constructor(profile: Profile, functions: Functions) {
    this.#profile = profile;
    this.#functions = functions;
  }

  /** Row of the stack table; `NONE` where there is no stack. */
  rowOf(stack: number): number {
    let row = this.#rows.get(stack);
    if (row === undefined) this.#rows.set(stack, (row = this.#find(stack)));
    return row;
  }

  functionOf(row: number): number {
    return this.#functions.ofFrame(this.#profile.stacks.frame.at(row));
  }

  /** Whether a stack has a function of JavaScript. */
  hasScript(stack: number): boolean {
    if (stack === NONE) return false;
    let has = this.#scripts.get(stack);
    if (has === undefined) {
      const { prefix } = this.#profile.stacks;
      has = this.#functions.place(this.functionOf(stack)) !== null || this.hasScript(prefix.at(stack));
      this.#scripts.set(stack, has);
    }
    return has;
  }

  /** Whether a stack has nothing but the kernel and the C library in it: it says how a thread waits. */
  isWaitOnly(stack: number): boolean {
    const { binaries, frames, stacks } = this.#profile;
    for (let row = stack; row !== NONE; row = stacks.prefix.at(row)) {
      const frame = stacks.frame.at(row);
      if (frames.mode.at(frame) === MODE_KERNEL) continue;
      if (!LIBRARY.test(binaries[frames.binary.at(frame)]!.name)) return false;
    }
    return true;
  }

  /** The innermost row that calls both, or is one of them; `NONE` if there is none. */
  commonCaller(stack: number, other: number): number {
    const { prefix } = this.#profile.stacks;
    let [a, b] = [stack, other];
    // Callers have lower numbers.
    while (a !== b && a !== NONE && b !== NONE)
      if (a > b) a = prefix.at(a);
      else b = prefix.at(b);
    return a === b ? a : NONE;
  }

  /** What is done at the inner end of a stack. */
  workOf(stack: number): string {
    const { frames, stacks } = this.#profile;
    const frame = stacks.frame.at(stack);
    const work = engineWork(this.#profile, frame);
    if (work !== null) return work;
    if (this.#functions.place(this.#functions.ofFrame(frame)) !== null) return 'JavaScript';
    return frames.mode.at(frame) === MODE_KERNEL ? 'kernel' : 'native';
  }

  describe(id: number): LoopFunction {
    const place = this.#functions.place(id);
    if (place === null) return { name: this.#functions.name(id), file: null, line: null, column: null };
    return { ...place, name: place.name === '' ? '(anonymous)' : place.name };
  }

  /** The functions that called the one in a row of the stack table, the nearest first. */
  callersOf(row: number): LoopFunction[] {
    const { prefix } = this.#profile.stacks;
    const callers: LoopFunction[] = [];
    for (let at = prefix.at(row); at !== NONE && callers.length < MOST_CALLERS; at = prefix.at(at))
      callers.push(this.describe(this.functionOf(at)));
    return callers;
  }

  #find(stack: number): number {
    const { prefix, frame } = this.#profile.stacks;
    let [native, script] = [NONE, NONE];
    for (let row = stack; row !== NONE; row = prefix.at(row)) {
      const place = this.#functions.place(this.functionOf(row));
      if (place !== null) {
        if (place.file?.startsWith(RUNTIME_SOURCE) !== true) return row;
        if (script === NONE) script = row;
      } else if (native === NONE && this.#isUserCode(frame.at(row))) native = row;
    }
    if (script !== NONE) return script;
    // Work of the kernel and of libraries counts for the code that asked for it.
    return native === NONE ? stack : native;
  }

  #isUserCode(frame: number): boolean {
    const { binaries, frames } = this.#profile;
    if (frames.symbol.at(frame) === NONE || frames.mode.at(frame) === MODE_KERNEL) return false;
    if (engineWork(this.#profile, frame) !== null) return false;
    return !LIBRARY.test(binaries[frames.binary.at(frame)]!.name);
  }
}
