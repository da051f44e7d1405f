import { isScheduling } from '../../profile/ingest/index.ts';
import { JIT_WITHOUT_NAMES, MODE_KERNEL, MODE_USER, NONE, type Profile } from '../../profile/tables/index.ts';
import type { Functions } from './functions.ts';

/** Libraries through which every program waits. */
const WAITING_LIBRARY = /^(?:libc[.-]|libpthread[.-]|ld-linux|ld-musl|libuv\.|\[vdso\])/;
/** The same in Node, which has its own copy of libuv in it. */
const WAITING_FUNCTION = /^uv_(?:cond|sem|mutex|barrier|rwlock|thread)_/;

/** JavaScript of Node itself: `readSync` of `node:fs` waits for whoever calls it. */
const RUNTIME_SOURCE = 'node:';

/**
 * Who waited: the innermost JavaScript function of a stack, of the program's own before those of Node; where
 * there is none, the innermost function of the program that is no part of a library through which every
 * program waits; else the innermost one of user space, or of the kernel.
 */
export class WaitingPlaces {
  readonly #profile: Profile;
  readonly #functions: Functions;
  readonly #byStack = new Map<number, number>();

  constructor(profile: Profile, functions: Functions) {
    this.#profile = profile;
    this.#functions = functions;
  }

  /** Row of the stack table. */
  of(stack: number): number {
    let place = this.#byStack.get(stack);
    if (place === undefined) this.#byStack.set(stack, (place = this.#find(stack)));
    return place;
  }

  #find(stack: number): number {
    const { stacks, frames, binaries } = this.#profile;
    let [user, own, script] = [NONE, NONE, NONE];
    for (let row = stack; row !== NONE; row = stacks.prefix.at(row)) {
      const frame = stacks.frame.at(row);
      if (frames.mode.at(frame) !== MODE_USER) continue;
      if (user === NONE) user = row;
      const id = this.#functions.ofFrame(frame);
      const place = this.#functions.place(id);
      if (place !== null) {
        if (place.file?.startsWith(RUNTIME_SOURCE) !== true) return row;
        if (script === NONE) script = row;
      }
      if (own !== NONE) continue;
      const { name, kind } = binaries[frames.binary.at(frame)]!;
      const isKnown = frames.symbol.at(frame) !== NONE || kind === 'jit';
      const text = isKnown ? this.#functions.name(id) : '';
      const isOwn = isKnown && text !== JIT_WITHOUT_NAMES && !WAITING_LIBRARY.test(name);
      if (isOwn && !WAITING_FUNCTION.test(text)) own = row;
    }
    if (script !== NONE) return script;
    if (own !== NONE) return own;
    if (user !== NONE) return user;
    const waiting = this.waitOf(stack);
    return waiting === NONE ? stack : waiting;
  }

  /**
   * The function of the kernel in which a stack waits (`futex_do_wait`), or `NONE`: it only waits for a CPU.
   */
  waitOf(stack: number): number {
    const { stacks, frames } = this.#profile;
    for (let row = stack; row !== NONE; row = stacks.prefix.at(row)) {
      const frame = stacks.frame.at(row);
      if (frames.mode.at(frame) !== MODE_KERNEL) return NONE;
      if (!isScheduling(this.#functions.name(this.#functions.ofFrame(frame)))) return row;
    }
    return NONE;
  }
}
