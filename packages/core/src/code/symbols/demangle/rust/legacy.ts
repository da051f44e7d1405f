/**
 * Rust's first mangling borrows the form of a nested C++ name and ends in a hash:
 *
 *   _ZN 4core 3fmt 5Write 17h0123456789abcdef E      core::fmt::Write
 *
 * Characters that C++ names cannot have are written `$LT$`, `$u7b$` and so on, `::` as `..`.
 */

/** `17h` and 16 hex digits. */
const HASH_LENGTH = 19;
/** Fewer different digits would not be a hash but a C++ name that happens to look like one. */
const DISTINCT_DIGITS = 5;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['C', ','],
  ['SP', '@'],
  ['BP', '*'],
  ['RF', '&'],
  ['LT', '<'],
  ['GT', '>'],
  ['LP', '('],
  ['RP', ')'],
]);

/** The readable name, with the hash where `verbose`; null where it is no such name. */
export function demangleRustLegacy(name: string, verbose: boolean): string | null {
  // Most names that start so are C++.
  if (!name.startsWith('_ZN') || !name.includes('17h')) return null;
  const end = endOfName(name);
  const hashStart = end - HASH_LENGTH;
  if (hashStart <= 3 || !name.startsWith('17h', hashStart) || !isHash(name, hashStart + 3, end)) return null;
  const parts: string[] = [];
  let position = 3;
  while (position < end) {
    let length = 0;
    const digits = position;
    for (; isDigit(name.charCodeAt(position)) && length < name.length; position++)
      length = length * 10 + name.charCodeAt(position) - 0x30;
    if (position === digits || name.charAt(digits) === '0' || position + length > end) return null;
    const part = name.slice(position, position + length);
    if (!isPlain(part)) return null;
    position += length;
    parts.push(part);
  }
  if (parts.at(-1)!.length !== HASH_LENGTH - 2) return null;
  if (!verbose) parts.pop();
  return parts.map(unescapePart).join('::');
}

/** Where the last `E` is that ends the name or stands before a `.suffix`; -1 if there is none. */
function endOfName(name: string): number {
  for (let end = name.length - 1, ends = true; end >= 3; end--) {
    const letter = name.charAt(end);
    if (ends && letter === 'E') return end;
    ends = letter === '.';
  }
  return -1;
}

function isHash(name: string, start: number, end: number): boolean {
  let seen = 0;
  let distinct = 0;
  for (let i = start; i < end; i++) {
    const letter = name.charCodeAt(i);
    let value = letter - 0x30;
    if (letter >= 0x61 && letter <= 0x66) value = letter - 0x61 + 10;
    else if (!isDigit(letter)) return false;
    if ((seen & (1 << value)) === 0) distinct++;
    seen |= 1 << value;
  }
  return distinct >= DISTINCT_DIGITS;
}

function isDigit(letter: number): boolean {
  return letter >= 0x30 && letter <= 0x39;
}

function isPlain(part: string): boolean {
  for (let i = 0; i < part.length; i++) {
    const letter = part.charAt(i);
    const isWord =
      (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || isDigit(part.charCodeAt(i));
    if (!isWord && !'_$.:@'.includes(letter)) return false;
  }
  return true;
}

function unescapePart(part: string): string {
  // An identifier may not start with an escape, so an underscore was put before it.
  let position = part.startsWith('_$') ? 1 : 0;
  let text = '';
  while (position < part.length) {
    const letter = part.charAt(position);
    if (letter === '$') {
      const close = part.indexOf('$', position + 1);
      const character = close < 0 ? null : decodeEscape(part.slice(position + 1, close));
      // Not an escape that rustc writes: the rest stays as it is.
      if (character === null) return text + part.slice(position);
      text += character;
      position = close + 1;
    } else if (letter === '.') {
      const isDouble = part.charAt(position + 1) === '.';
      text += isDouble ? '::' : '.';
      position += isDouble ? 2 : 1;
    } else {
      text += letter;
      position++;
    }
  }
  return text;
}

/** `u` and the code point in lower-case hex, or one of the named ones; null where it is neither. */
function decodeEscape(word: string): string | null {
  const named = ESCAPES.get(word);
  if (named !== undefined) return named;
  if (word.length < 2 || word.length > 7 || word.charAt(0) !== 'u') return null;
  let code = 0;
  for (let i = 1; i < word.length; i++) {
    const digit = '0123456789abcdef'.indexOf(word.charAt(i));
    if (digit < 0) return null;
    code = code * 16 + digit;
  }
  const isControl = code < 0x20 || (code >= 0x7f && code < 0xa0);
  if (isControl || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return null;
  return String.fromCodePoint(code);
}
