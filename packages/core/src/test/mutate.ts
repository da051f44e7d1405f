import type { Random } from './random.ts';

/** Values at which readers of counts, sizes and offsets break. */
const WORDS = [0, 1, 7, 8, 9, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fff8, 0xffff_ffff];

/** One way of damaging bytes; returns the same array changed in place, or another. */
export type Mutation = (bytes: Uint8Array<ArrayBuffer>, random: Random) => Uint8Array<ArrayBuffer>;

export function flipBits(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  for (let n = 1 + random.below(8); n > 0 && bytes.length > 0; n--) {
    bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
  }
  return bytes;
}

/** A word of 1, 2, 4 or 8 bytes, mostly aligned, becomes a value that is likely to hurt. */
export function setWord(
  bytes: Uint8Array<ArrayBuffer>,
  random: Random,
  from = 0,
  to = bytes.length,
): Uint8Array<ArrayBuffer> {
  const size = random.pick([1, 2, 4, 8]);
  if (to - from < size) return bytes;
  let at = from + random.below(to - from - size + 1);
  if (!random.oneIn(4)) at -= at % Math.min(size, 4);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const value =
    random.pick([...WORDS, bytes.length, bytes.length - at, random.u32(), random.below(300)]) >>> 0;
  const le = !random.oneIn(4);
  if (size === 1) view.setUint8(at, value & 0xff);
  else if (size === 2) view.setUint16(at, value & 0xffff, le);
  else {
    view.setUint32(at, value, le);
    if (size === 8) view.setUint32(at + 4, random.oneIn(2) ? 0 : random.pick(WORDS) >>> 0, le);
  }
  return bytes;
}

export function cut(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  return bytes.slice(0, random.below(bytes.length + 1));
}

/** A piece is taken out, doubled, zeroed, filled with letters (so that no string ends), or moved. */
export function tearPiece(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  const from = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, from + random.below(random.pick([4, 16, 100, 1000])));
  const way = random.below(5);
  if (way === 0) return Uint8Array.from([...bytes.subarray(0, from), ...bytes.subarray(to)]);
  if (way === 1) return Uint8Array.from([...bytes.subarray(0, to), ...bytes.subarray(from)]);
  if (way === 2) return bytes.fill(0, from, to);
  if (way === 3) return bytes.fill(0x41, from, to);
  return bytes.copyWithin(random.below(bytes.length + 1), from, to);
}

export function insertRubbish(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  const at = random.below(bytes.length + 1);
  return Uint8Array.from([
    ...bytes.subarray(0, at),
    ...random.bytes(random.below(64)),
    ...bytes.subarray(at),
  ]);
}

export const MUTATIONS: readonly Mutation[] = [flipBits, setWord, setWord, cut, tearPiece, insertRubbish];

/** A damaged copy: one to four mutations, `special` ones as likely as all the general ones together. */
export function mutate(
  bytes: Uint8Array,
  random: Random,
  special: readonly Mutation[] = [],
): Uint8Array<ArrayBuffer> {
  let out = bytes.slice() as Uint8Array<ArrayBuffer>;
  for (let n = 1 + random.below(4); n > 0; n--) {
    const mutation = special.length > 0 && random.oneIn(2) ? random.pick(special) : random.pick(MUTATIONS);
    out = mutation(out, random);
  }
  return out;
}
