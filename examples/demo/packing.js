import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib';

/** There and back through zlib and brotli; how many bytes the packed forms have. */
export function packText(text, rounds) {
  const bytes = Buffer.from(text);
  let packed = 0;
  for (let round = 0; round < rounds; round++) {
    const gzip = gzipSync(bytes, { level: 4 + (round % 3) });
    const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
    if (gunzipSync(gzip).length !== bytes.length) throw new Error('gzip lost something');
    if (brotliDecompressSync(brotli).length !== bytes.length) throw new Error('brotli lost something');
    packed += gzip.length + brotli.length;
  }
  return packed;
}
