import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';
import { UsageError } from './args.ts';

/** `FILE[:FROM[-TO]]`: a file, or a part of it in bytes; numbers in decimal or with 0x. A colon may be part of the name. */
export interface FilePart {
  readonly path: string;
  readonly from: number;
  /** Behind the last byte; null: to the end. */
  readonly to: number | null;
}

const NUMBER = '(?:0x[0-9a-fA-F]+|[0-9]+)';
const PART = new RegExp(`^(.+):(${NUMBER})(?:-(${NUMBER}))?$`);
/** A read of more than 2 GiB is refused by the operating system. */
const MAX_READ_BYTES = 1 << 30;

export function parseFilePart(text: string): FilePart {
  const match = PART.exec(text);
  if (match === null) return { path: text, from: 0, to: null };
  const from = Number(match[2]);
  const to = match[3] === undefined ? null : Number(match[3]);
  if (to !== null && to <= from) throw new UsageError(`${text}: the part of the file ends before it begins`);
  return { path: match[1]!, from, to };
}

/** The bytes of a file or of a part of it. */
export function readFilePart({ path, from, to }: FilePart): Uint8Array<ArrayBuffer> {
  const descriptor = openSync(path, 'r');
  try {
    const size = fstatSync(descriptor).size;
    const end = to ?? size;
    if (from > size || end > size)
      throw new CounterpointError(
        'ERR_FILE_PART',
        `${path} has ${size} bytes, and ${from > size ? from : end} was asked for`,
        'Give FILE:FROM-TO inside of the file, in bytes.',
      );
    const bytes = new Uint8Array(end - from);
    let at = 0;
    while (at < bytes.length) {
      const count = readSync(descriptor, bytes, at, Math.min(bytes.length - at, MAX_READ_BYTES), from + at);
      if (count === 0) return bytes.subarray(0, at);
      at += count;
    }
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}
