/**
 * Characters that a terminal obeys: control characters of both blocks, and those that turn or hide the
 * direction of text (Unicode 15, UAX #9), with which a name can be made to look like another. They come
 * in names of hostile programs.
 */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
const ALL_UNSAFE = /* @__PURE__ */ new RegExp(UNSAFE, 'g');

/** A name as text that is safe to print: control characters as `\x1b`, marks of direction as `\u202e`. */
export function printable(text: string): string {
  return UNSAFE.test(text) ? text.replace(ALL_UNSAFE, escaped) : text;
}

/** As `printable`, of whole lines: line breaks and tabs are layout. */
export function printableText(text: string): string {
  return UNSAFE.test(text)
    ? text.replace(ALL_UNSAFE, (char) => (LAYOUT.has(char) ? char : escaped(char)))
    : text;
}

const LAYOUT: ReadonlySet<string> = new Set(['\n', '\t']);

function escaped(char: string): string {
  const code = char.charCodeAt(0);
  return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`;
}

/**
 * A value as JSON that is safe to print too: what `JSON.stringify` leaves of those characters, as `\u009b`.
 */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  // A line break outside of strings is layout, and inside of one it is escaped already.
  return text.replace(ALL_UNSAFE, (char) => (char === '\n' ? char : `\\u${hex(char.charCodeAt(0), 4)}`));
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
