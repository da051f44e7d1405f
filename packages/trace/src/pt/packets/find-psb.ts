import { PT_EXT_PSB, PT_EXTENDED, PT_SIZE_PSB } from './opcodes.ts';
import { isPsb } from './read-packet.ts';

/**
 * The offset of the first PSB that lies whole between `from` and `to`. -1 if there is none.
 *
 * The 16 bytes `02 82 02 82 ...` never occur inside the packets that a processor writes. A decoder that has
 * lost its way can therefore start again at a PSB. The search looks at every 14th byte only: a PSB has 16
 * bytes that repeat every 2, so one of these bytes lies in it.
 *
 * In a longer run, the last 16 bytes are the PSB. The bytes before them are the rest of a PSB that was cut,
 * or a PSB with nothing after it.
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
    // A long run is walked once.
    if (runEnd > at) at = runEnd;
  }
  return -1;
}

/** Where the run of pairs `02 82` that starts at `at` ends. */
function endOfRun(bytes: Uint8Array, at: number, end: number): number {
  let pos = at;
  while (pos + 1 < end && bytes[pos] === PT_EXTENDED && bytes[pos + 1] === PT_EXT_PSB) pos += 2;
  return pos;
}

/** The offset of the last PSB that begins at `from` or later, and before `before`. -1 if there is none. */
export function findPsbBackward(bytes: Uint8Array, from: number, before: number): number {
  const lowest = Math.max(from, 0);
  for (let at = Math.min(before - 1, bytes.length - PT_SIZE_PSB); at >= lowest; at--)
    if (bytes[at] === PT_EXTENDED && bytes[at + 1] === PT_EXT_PSB && isPsb(bytes, at)) return at;
  return -1;
}
