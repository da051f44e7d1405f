const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `{` and `[`, `}` and `]`: they differ in this bit. */
const CASE_BIT = 0x20;
const OPENS = 0x7b;
const CLOSES = 0x7d;

/**
 * Whether lists and objects of JSON are in each other so deep, and no deeper. Says nothing of its form else.
 */
export function isNestedAtMost(json: Uint8Array, depth: number): boolean {
  let level = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!;
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if ((byte | CASE_BIT) === OPENS && ++level > depth) return false;
    else if ((byte | CASE_BIT) === CLOSES) level--;
  }
  return true;
}
