import type { Random } from '../../../core/src/test/random.ts';
import { CodeImage } from '../code/image/index.ts';

/** Instructions that lead nowhere. */
const PLAIN = [[0x48, 0x89, 0xc3], [0x90], [0x48, 0x83, 0xc0, 1], [0x85, 0xc0]];
const JUMP_OVER = [0x75, 3, 0x48, 0x89, 0xc3];
const SYSCALL = [0x0f, 0x05];
const CALL_RAX = [0xff, 0xd0];
const RETURN = [0xc3];
const WRITE_CR3 = [0x0f, 0x22, 0xd8];
const INTERRUPT_RETURN = [0x48, 0xcf];
const CALL = 0xe8;
/** Bytes of a direct call. */
const CALL_BYTES = 5;

export interface RandomCode {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where functions begin: low and high half in turn. */
  readonly entries: Int32Array;
  /** Those of them that return from an interrupt. */
  readonly handlers: Int32Array;
}

/**
 * Functions that branch, call each other and, as often as not, the system; or, as a kernel, write CR3
 * instead, and each second one handles interrupts. `address` is below 2^31, or negative: at the end of
 * memory. `jumps`: what conditional branches look like.
 */
export function randomCode(
  random: Random,
  address: number,
  isKernel = false,
  functions = 120,
  jumps: readonly number[][] = [JUMP_OVER],
): RandomCode {
  const bytes: number[] = [];
  const starts: number[] = [];
  const calls: { at: number; to: number }[] = [];
  for (let index = 0; index < functions; index++) {
    while (bytes.length % 16 !== 0) bytes.push(0x90);
    starts.push(bytes.length);
    for (let parts = 4 + random.below(8); parts > 0; parts--) {
      for (let plain = random.below(5); plain >= 0; plain--) bytes.push(...random.pick(PLAIN));
      const choice = random.below(10);
      if (choice < 5) bytes.push(...(jumps.length === 1 ? jumps[0]! : random.pick(jumps)));
      else if (choice < 7) bytes.push(...(isKernel ? WRITE_CR3 : SYSCALL));
      else if (choice === 7) bytes.push(...CALL_RAX);
      else if (index + 1 < functions) {
        calls.push({ at: bytes.length, to: index + 1 + random.below(Math.min(functions - index - 1, 20)) });
        bytes.push(CALL, 0, 0, 0, 0);
      }
    }
    bytes.push(...(isKernel && index % 2 === 0 ? INTERRUPT_RETURN : RETURN));
  }
  const code = Uint8Array.from(bytes);
  for (const { at, to } of calls)
    new DataView(code.buffer).setInt32(at + 1, starts[to]! - at - CALL_BYTES, true);
  const places = starts.map((start) => [address + start, address < 0 ? -1 : 0]);
  const entries = Int32Array.from(places.flat());
  const handlers = Int32Array.from(places.filter((_, index) => index % 2 === 0).flat());
  return { bytes: code, entries, handlers };
}

export function imageOfCode({ bytes }: RandomCode, address: number): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: BigInt(address), bytes });
  return image;
}
