// One coder for all rooms. Marked as pure: a bundler does not know by itself that it may leave them out.
const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Writes at the beginning of `into`, as far as it fits; returns the number of bytes. */
export function encodeUtf8Into(text: string, into: Uint8Array): number {
  return encoder.encodeInto(text, into).written;
}

/** What is not UTF-8 becomes U+FFFD. Never throws. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The text before the first NUL; all of it if there is none. */
export function textUpToNul(bytes: Uint8Array): string {
  const nul = bytes.indexOf(0);
  return decodeUtf8(nul < 0 ? bytes : bytes.subarray(0, nul));
}
