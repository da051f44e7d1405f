import { CounterpointError, checkArgument } from '@counterpoint/core/base';

/**
 * Throws for anything without bytes: it would count as an empty trace. Arrays of another realm are accepted.
 */
export function requireBytes(bytes: Uint8Array): void {
  if (bytes instanceof Uint8Array || Object.prototype.toString.call(bytes) === '[object Uint8Array]') return;
  throw new CounterpointError(
    'ERR_INPUT',
    `a trace is a Uint8Array here, not ${Object.prototype.toString.call(bytes).slice('[object '.length, -1)}`,
    'Give new Uint8Array(arrayBuffer); of a Blob or File: new Uint8Array(await file.arrayBuffer()). profileInParts reads them as they are.',
  );
}

/** Throws if there is no image: a trace can be followed only through its code. */
export function requireImage(image: unknown): void {
  const remedy = 'Give a CodeImage: const image = new CodeImage(); await addElf(image, file, { name });';
  const isRight = { addSection: 'function' };
  checkArgument(isRight, 'decoding', 'the image', image, 'a CodeImage', remedy);
}
