import type { ExecutedInstruction } from '../../pt/index.ts';

/** A branch of which it is not known yet where it went. */
export class OpenBranch {
  isOpen = false;
  ipLo = 0;
  ipHi = 0;
  nextLo = 0;
  nextHi = 0;
  isConditional = false;
  areCyclesKnown = false;
  /** As many as were counted up to it. */
  cycles = 0;
  flags = 0;
  length = 0;
  readonly bytes = new Uint8Array(16);
}

/** Of an instruction; zeros where its code is not at hand. */
export function copyBytes(instruction: ExecutedInstruction, into: Uint8Array): void {
  const { section, length, ipLo, isTruncated } = instruction;
  if (section === null || isTruncated) {
    into.fill(0, 0, length);
    return;
  }
  const at = ((ipLo >>> 0) - (section.baseLo >>> 0)) >>> 0;
  for (let n = 0; n < length; n++) into[n] = section.bytes[at + n]!;
}
