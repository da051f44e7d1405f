import { encodeUtf8 } from '../../base/index.ts';

const PREFIX = 'data:';
const BASE64 = ';base64';
const NO_DIGIT = 64;
const PADDING = '=';
const PERCENT = 0x25;

/** Values of the characters of base 64; `-` and `_` are those of its form for URLs. */
const DIGITS: Uint8Array = /* @__PURE__ */ Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  const at = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(character);
  if (at >= 0) return at;
  return character === '-' ? 62 : character === '_' ? 63 : NO_DIGIT;
});

export function isDataUrl(url: string): boolean {
  return url.startsWith(PREFIX);
}

/** What a `data:` URL holds (RFC 2397); null: it is damaged, or none. */
export function decodeDataUrl(url: string): Uint8Array<ArrayBuffer> | null {
  const comma = url.indexOf(',');
  if (!isDataUrl(url) || comma < 0) return null;
  const isBase64 = url.slice(0, comma).toLowerCase().endsWith(BASE64);
  return isBase64 ? decodeBase64(url, comma + 1) : decodePercent(url.slice(comma + 1));
}

function decodeBase64(text: string, start: number): Uint8Array<ArrayBuffer> | null {
  let end = text.length;
  while (end > start && text[end - 1] === PADDING) end--;
  const bytes = new Uint8Array(Math.floor(((end - start) * 6) / 8));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let from = start; from < end; from++) {
    const code = text.charCodeAt(from);
    const digit = code < DIGITS.length ? DIGITS[code]! : NO_DIGIT;
    if (digit === NO_DIGIT) return null;
    bits = ((bits << 6) | digit) & 0xffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[at++] = bits >> held;
  }
  return bytes;
}

function decodePercent(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = encodeUtf8(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at]!;
    if (byte === PERCENT) {
      const hex = String.fromCharCode(bytes[at + 1] ?? 0, bytes[at + 2] ?? 0);
      if (!/^[0-9a-f]{2}$/i.test(hex)) return null;
      byte = Number.parseInt(hex, 16);
      at += 2;
    }
    bytes[length++] = byte;
  }
  return bytes.slice(0, length);
}
