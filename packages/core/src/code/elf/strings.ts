import { textUpToNul } from '../../base/index.ts';

/** Longer names are cut: a table without a NUL must not cost its whole size per name. */
export const MAX_NAME_BYTES = 1 << 16;
/** What is left of a name where a table has given far more names than it holds. */
const SHORT_NAME_BYTES = 256;
/**
 * How often a table may be decoded in all. Linkers let a name share another's end,
 * and some are asked for twice.
 */
const MAX_DECODED = 16;
const FREE_BYTES = 1 << 20;

/** A NUL-terminated string of a string table; empty where the offset is outside. */
export function stringAt(strings: Uint8Array, offset: number, maxBytes = MAX_NAME_BYTES): string {
  if (offset >= strings.length) return '';
  const window = strings.subarray(offset, offset + maxBytes);
  return textUpToNul(window);
}

/**
 * The names of a section or symbol table. Each of its entries, of 24 bytes, may name the same 64 KiB:
 * beyond sixteen times its own size, a table gives only the beginning of a name, so that all names
 * cost what the file's bytes do.
 */
export class ElfNames {
  readonly bytes: Uint8Array<ArrayBuffer>;
  #leftBytes: number;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.bytes = bytes;
    this.#leftBytes = FREE_BYTES + bytes.length * MAX_DECODED;
  }

  at(offset: number): string {
    const name = stringAt(this.bytes, offset, this.#leftBytes > 0 ? MAX_NAME_BYTES : SHORT_NAME_BYTES);
    this.#leftBytes -= name.length;
    return name;
  }
}
