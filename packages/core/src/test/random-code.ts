import { CodeImage } from '../trace/image/index.ts';
import type { Random } from './random.ts';

/** Instructions that lead nowhere. */
const PLAIN = [[0x48, 0x89, 0xc3], [0x90], [0x48, 0x83, 0xc0, 1], [0x85, 0xc0]];
const JUMP_OVER = [0x75, 3, 0x48, 0x89, 0xc3];
const SYSCALL = [0x0f, 0x05];
const CALL_RAX = [0xff, 0xd0];
const RETURN = [0xc3];
const CALL = 0xe8;
/** Bytes of a direct call. */
const CALL_BYTES = 5;

export interface RandomCode {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where functions begin: low and high half in turn. */
  readonly entries: Int32Array;
}

/** Functions at an address below 2^31 that branch, call each other and, as often as not, the system. */
export function randomCode(random: Random, address: number, functions = 120): RandomCode {
  const bytes: number[] = [];
  const starts: number[] = [];
  const calls: { at: number; to: number }[] = [];
  for (let index = 0; index < functions; index++) {
    while (bytes.length % 16 !== 0) bytes.push(0x90);
    starts.push(bytes.length);
    for (let parts = 4 + random.below(8); parts > 0; parts--) {
      for (let plain = random.below(5); plain >= 0; plain--) bytes.push(...random.pick(PLAIN));
      const choice = random.below(10);
      if (choice < 5) bytes.push(...JUMP_OVER);
      else if (choice < 7) bytes.push(...SYSCALL);
      else if (choice === 7) bytes.push(...CALL_RAX);
      else if (index + 1 < functions) {
        calls.push({ at: bytes.length, to: index + 1 + random.below(Math.min(functions - index - 1, 20)) });
        bytes.push(CALL, 0, 0, 0, 0);
      }
    }
    bytes.push(...RETURN);
  }
  const code = Uint8Array.from(bytes);
  for (const { at, to } of calls)
    new DataView(code.buffer).setInt32(at + 1, starts[to]! - at - CALL_BYTES, true);
  return { bytes: code, entries: Int32Array.from(starts.flatMap((start) => [address + start, 0])) };
}

export function imageOfCode({ bytes }: RandomCode, address: number): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: BigInt(address), bytes });
  return image;
}
