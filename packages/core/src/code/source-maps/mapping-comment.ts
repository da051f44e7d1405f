import { decodeUtf8 } from '../../base/index.ts';

/**
 * The comment at the end of a script that says where its map is:
 *
 *     //# sourceMappingURL=app.js.map        //# sourceMappingURL=data:application/json;base64,eyJ2Z...
 *
 * `@` in the place of `#` is older. The last one holds. A line that has anything but white space
 * behind the URL is no such comment, for V8 neither.
 */
const KEY = /* @__PURE__ */ new TextEncoder().encode('sourceMappingURL=');
/** Its `M`, the letter that programs have least of. */
const RARE_AT = 6;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const START = /(?:^|\s|;|\}|\)|\/)\/\/[#@][ \t]*$/;
const START_BYTES = 16;

/** The URL; null: there is no such comment in these bytes. */
export function mappingUrl(script: Uint8Array): string | null {
  for (let at = lastKeyBefore(script, script.length); at >= 0; at = lastKeyBefore(script, at)) {
    const before = decodeUtf8(script.subarray(Math.max(0, at - START_BYTES), at));
    if (!START.test(before)) continue;
    const start = at + KEY.length;
    const url = decodeUtf8(script.subarray(start, endOfLine(script, start))).trim();
    if (url !== '' && !/[\s"'`]/.test(url)) return url;
  }
  return null;
}

function lastKeyBefore(bytes: Uint8Array, end: number): number {
  for (let rare = end - 1; rare >= RARE_AT; rare--) {
    rare = bytes.lastIndexOf(KEY[RARE_AT]!, rare);
    const at = rare - RARE_AT;
    if (at < 0 || KEY.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}

function endOfLine(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++)
    if (bytes[at] === LINE_FEED || bytes[at] === CARRIAGE_RETURN) return at;
  return bytes.length;
}
