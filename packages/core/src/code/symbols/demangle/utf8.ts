import { decodeUtf8, encodeUtf8 } from '../../../base/index.ts';

/**
 * C++ names count identifiers in bytes, and compilers write those beyond ASCII as UTF-8. A string with one
 * byte per character lets the same code read both.
 */

/** The UTF-8 of `text`, one character per byte. */
export function toByteString(text: string): string {
  let bytes = '';
  for (const byte of encodeUtf8(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

/** The inverse; bytes that are no UTF-8 become U+FFFD. */
export function fromByteString(bytes: string): string {
  return decodeUtf8(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)));
}
