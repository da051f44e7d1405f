import { PT_EXT_PSB, PT_EXTENDED, PT_SIZE_PSB } from './opcodes.ts';
import { isPsb } from './read-packet.ts';

/**
 * The offset of the first PSB that lies whole between `from` and `to`; -1 where there is none.
 *
 * The 16 bytes `02 82 02 82 ...` do not occur inside the packets that a processor writes, so a decoder
 * that lost its way finds it again here. Every 14th byte is looked at: whichever way 16 bytes of
 * period 2 lie, one of them is there.
 *
 * Of a longer run the last 16 bytes are taken: what stands before them is the rest of a PSB that was cut, or
 * another PSB without anything behind it.
 */
export function findPsb(bytes: Uint8Array, from: number, to: number): number {
  const end = Math.min(to, bytes.length);
  const begin = Math.max(from, 0);
  for (let at = begin + PT_SIZE_PSB - 2; at < end; at += PT_SIZE_PSB - 2) {
    const byte = bytes[at]!;
    if (byte !== PT_EXTENDED && byte !== PT_EXT_PSB) continue;
    const runEnd = endOfRun(bytes, byte === PT_EXTENDED ? at : at + 1, end);
    const start = runEnd - PT_SIZE_PSB;
    if (start >= begin && isPsb(bytes, start)) return start;
    // A long run is not walked again.
    if (runEnd > at) at = runEnd;
  }
  return -1;
}

/** Where the pairs `02 82` stop that go on from `at`. */
function endOfRun(bytes: Uint8Array, at: number, end: number): number {
  let pos = at;
  while (pos + 1 < end && bytes[pos] === PT_EXTENDED && bytes[pos + 1] === PT_EXT_PSB) pos += 2;
  return pos;
}

/** The offset of the last PSB that begins at `from` or later and before `before`; -1 where there is none. */
export function findPsbBackward(bytes: Uint8Array, from: number, before: number): number {
  const lowest = Math.max(from, 0);
  for (let at = Math.min(before - 1, bytes.length - PT_SIZE_PSB); at >= lowest; at--)
    if (bytes[at] === PT_EXTENDED && bytes[at + 1] === PT_EXT_PSB && isPsb(bytes, at)) return at;
  return -1;
}
