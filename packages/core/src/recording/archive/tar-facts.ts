/** The tar format as POSIX.1-1988 (ustar) has it, and GNU's records for long names. Imports nothing. */

/** Everything in a tar fills blocks of this size. */
export const BLOCK_BYTES = 512;

/** Name, offset and size of the fields of a header that are used here. */
export const NAME: readonly [number, number] = [0, 100];
export const MODE: readonly [number, number] = [100, 8];
export const SIZE: readonly [number, number] = [124, 12];
export const MTIME: readonly [number, number] = [136, 12];
export const CHECKSUM: readonly [number, number] = [148, 8];
export const TYPE_AT = 156;
export const LINK_NAME: readonly [number, number] = [157, 100];
export const MAGIC: readonly [number, number] = [257, 8];
export const PREFIX: readonly [number, number] = [345, 155];

/** Kinds of entries, by the letter in the header. */
export const TYPE_FILE = '0';
export const TYPE_LINK = '2';
export const TYPE_DIRECTORY = '5';
/** GNU: the data is the name of the next entry, or the target of its link. */
export const TYPE_LONG_NAME = 'L';
export const TYPE_LONG_LINK = 'K';
/** POSIX.1-2001: the data is lines such as `27 path=...` about the next entry. */
export const TYPE_EXTENDED = 'x';

/** Size of an entry's data with what fills its last block. */
export function paddedSize(size: number): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}
