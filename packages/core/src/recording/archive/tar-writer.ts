import {
  BLOCK_BYTES,
  CHECKSUM,
  LINK_NAME,
  MAGIC,
  MODE,
  MTIME,
  NAME,
  paddedSize,
  SIZE,
  TYPE_AT,
  TYPE_FILE,
  TYPE_LINK,
  TYPE_LONG_LINK,
  TYPE_LONG_NAME,
} from './tar-facts.ts';

/** What stands before a file, or is a link. */
export interface TarHead {
  /** Relative, with `/`. */
  name: string;
  /** Bytes of the data that follow, to be filled up to whole blocks; 0 for a link. */
  size: number;
  /** Makes it a link. */
  linkTarget?: string;
  /** When it was made, in seconds since 1970. */
  timeSeconds: number;
}

/** The bytes before the data of an entry. */
export function tarHead({ name, size, linkTarget, timeSeconds }: TarHead): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder();
  const [nameBytes, linkBytes] = [text.encode(name), text.encode(linkTarget ?? '')];
  const parts: Uint8Array<ArrayBuffer>[] = [];
  if (nameBytes.length > NAME[1]) parts.push(...longText(TYPE_LONG_NAME, nameBytes, timeSeconds));
  if (linkBytes.length > LINK_NAME[1]) parts.push(...longText(TYPE_LONG_LINK, linkBytes, timeSeconds));
  const type = linkTarget === undefined ? TYPE_FILE : TYPE_LINK;
  parts.push(block(type, nameBytes, size, timeSeconds, linkBytes));
  return joined(parts);
}

/** What fills the last block of `size` bytes of data. */
export function tarPadding(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(paddedSize(size) - size);
}

/** Two empty blocks. */
export function tarEnd(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(2 * BLOCK_BYTES);
}

function longText(type: string, bytes: Uint8Array, timeSeconds: number): Uint8Array<ArrayBuffer>[] {
  const data = new Uint8Array(paddedSize(bytes.length + 1));
  data.set(bytes);
  const name = new TextEncoder().encode('././@LongLink');
  return [block(type, name, bytes.length + 1, timeSeconds, new Uint8Array()), data];
}

function block(
  type: string,
  name: Uint8Array,
  size: number,
  timeSeconds: number,
  link: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(BLOCK_BYTES);
  const text = new TextEncoder();
  bytes.set(name.subarray(0, NAME[1]), NAME[0]);
  bytes.set(link.subarray(0, LINK_NAME[1]), LINK_NAME[0]);
  const putOctal = ([at, width]: readonly [number, number], value: number) =>
    bytes.set(
      text.encode(
        Math.floor(value)
          .toString(8)
          .padStart(width - 1, '0'),
      ),
      at,
    );
  putOctal(MODE, type === TYPE_LINK ? 0o777 : 0o644);
  putOctal([108, 8], 0);
  putOctal([116, 8], 0);
  putOctal(SIZE, size);
  putOctal(MTIME, timeSeconds);
  bytes[TYPE_AT] = type.charCodeAt(0);
  // GNU's form of the magic: readers then know its records of long names.
  bytes.set(text.encode('ustar  \0'), MAGIC[0]);
  // The sum is of the header with blanks in its own place.
  bytes.fill(0x20, CHECKSUM[0], CHECKSUM[0] + CHECKSUM[1]);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.set(text.encode(`${sum.toString(8).padStart(6, '0')}\0 `), CHECKSUM[0]);
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
