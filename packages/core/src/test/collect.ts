/** A whole export as bytes or text: for tests, whose profiles are small. */
export function collectBytes(chunks: Iterable<Uint8Array>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat([...chunks]));
}

export function collectText(chunks: Iterable<Uint8Array>): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(collectBytes(chunks));
}
