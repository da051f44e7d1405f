import { MODE_USER, NONE, type Profile } from '../tables/index.ts';

/** Samples have the row: the program was interrupted at its frame. */
export const INTERRUPTED = 1;
/** Rows further in have it: its frame had called the next one. */
export const CALLING = 2;

/**
 * How rows of a tree of stacks are used: by samples, and by the rows further in. Frames of the kernel
 * stand on the instruction that was interrupted, also where the program had called it; those of
 * programs on a return address.
 */
export function stackUses(profile: Profile, prefixes: Int32Array, frames: Int32Array): Uint8Array {
  const { samples } = profile;
  const uses = new Uint8Array(prefixes.length);
  for (let row = 0; row < samples.length; row++) {
    const stack = samples.stack.at(row);
    if (stack !== NONE) uses[stack] = INTERRUPTED;
  }
  for (let row = prefixes.length - 1; row >= 0; row--) {
    const prefix = prefixes[row]!;
    if (prefix === NONE || uses[row] === 0) continue;
    uses[prefix]! |= isUserFrame(profile, frames[row]!) ? CALLING : INTERRUPTED;
  }
  return uses;
}

export function isUserFrame({ frames }: Profile, frame: number): boolean {
  return frames.mode.at(frame) === MODE_USER;
}
