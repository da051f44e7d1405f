import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { type ByteSource, CounterpointError, memorySource } from '@counterpoint/core/base';
import { findPsb } from '@counterpoint/trace/intel-pt';
import { openFileSource } from '../../../host/locate/index.ts';
import { UsageError } from '../../common/usage-error.ts';

/**
 * `FILE[:FROM[-TO]]`: a file, or a part of it in bytes; numbers in decimal or with 0x. A colon may be part of
 * the name. `-` alone is standard input.
 */
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
/** What has no size beforehand is read in pieces, up to a size that memory surely holds. */
const PIECE_BYTES = 1 << 20;
const MOST_STREAM_BYTES = 1 << 30;
/** The longest piece of memory that JavaScript has. */
const MOST_WHOLE_BYTES = 2 ** 32;
/** Bytes that tell why a file cannot be decoded. */
export const TELLING_BYTES = 1 << 16;

export function parseFilePart(text: string): FilePart {
  if (text === '-') return { path: '/dev/stdin', from: 0, to: null };
  const match = PART.exec(text);
  if (match === null) return { path: text, from: 0, to: null };
  const from = Number(match[2]);
  const to = match[3] === undefined ? null : Number(match[3]);
  if (to !== null && to <= from) throw new UsageError(`${text}: the part of the file ends before it begins`);
  return { path: match[1]!, from, to };
}

/** A trace that is read bit by bit; a pipe can be read only once, so whoever wants all of it asks here. */
export interface OpenFilePart extends ByteSource, AsyncDisposable {
  all(): Uint8Array<ArrayBuffer>;
}

/** A file or a part of it, to be read bit by bit. Whatever is not a regular file is read whole, at once. */
export async function openFilePart(part: FilePart): Promise<OpenFilePart> {
  if (!statSync(part.path).isFile()) {
    const bytes = readFilePart(part);
    return { ...memorySource(bytes), all: () => bytes, [Symbol.asyncDispose]: async () => {} };
  }
  const file = await openFileSource(part.path);
  try {
    const to = checkedEnd(part, file.size);
    const { from } = part;
    return {
      size: to - from,
      all: () => readFilePart(part),
      read: (offset, length) => file.read(from + offset, Math.min(length, to - from - offset)),
      readInto: (target, offset) =>
        file.readInto(target.subarray(0, Math.max(0, to - from - offset)), from + offset),
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Where the part ends in a file of `size` bytes. */
function checkedEnd({ path, from, to }: FilePart, size: number): number {
  const end = to ?? size;
  if (from <= size && end <= size) return end;
  throw new CounterpointError(
    'ERR_FILE_PART',
    `${path} has ${size} bytes, but byte ${from > size ? from : end} was requested`,
    'Give FILE:FROM-TO within the file, in bytes.',
  );
}

/** The bytes of a file or of a part of it. */
export function readFilePart(part: FilePart): Uint8Array<ArrayBuffer> {
  const { path, from } = part;
  const descriptor = openSync(path, 'r');
  try {
    const status = fstatSync(descriptor);
    if (status.isDirectory())
      throw new CounterpointError('ERR_FILE', `${path} is a directory`, 'Name a file in it.');
    if (!status.isFile()) {
      const whole = readStream(descriptor, path);
      return whole.subarray(from, checkedEnd(part, whole.length));
    }
    const end = checkedEnd(part, status.size);
    if (end - from >= MOST_WHOLE_BYTES)
      throw new CounterpointError(
        'ERR_FILE_PART',
        `${path}: ${end - from} bytes are too many to read at once`,
        'Give a part below 4 GiB: FILE:FROM-TO, in bytes. (pt profile reads a trace of any size, in parts.)',
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

/** All of a pipe or device, which says its size only by ending. */
function readStream(descriptor: number, path: string): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  const buffer = new Uint8Array(PIECE_BYTES);
  for (;;) {
    const count = readPiece(descriptor, buffer);
    if (count === 0) break;
    pieces.push(buffer.slice(0, count));
    sizeBytes += count;
    if (sizeBytes > MOST_STREAM_BYTES)
      throw new CounterpointError(
        'ERR_FILE',
        `${path} is not a file, and does not end within ${MOST_STREAM_BYTES} bytes`,
        'Write it to a file first: only the needed part of a file is read.',
      );
  }
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Waits where somebody else made a shared pipe non-blocking. */
function readPiece(descriptor: number, into: Uint8Array): number {
  for (;;)
    try {
      return readSync(descriptor, into, 0, into.length, null);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 2);
    }
}

/** What to say of bytes that hold no trace; null where a synchronization point is there. */
export function notATrace(bytes: Uint8Array): string | null {
  return !isRecording(bytes) && findPsb(bytes, 0, bytes.length) >= 0 ? null : whyNoTrace(bytes);
}

/** Bytes that tell a perf.data file. */
export const MAGIC_BYTES = 8;

/** A perf.data file, by its first bytes: the trace is somewhere in it, and its code is what it names. */
export function isRecording(bytes: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(bytes.subarray(0, MAGIC_BYTES)) === 'PERFILE2';
}

/** What to say of a file that is no trace, by its first bytes. */
export function whyNoTrace(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'the trace is empty';
  if (isRecording(bytes))
    return 'this is a perf.data file, and pt reads raw traces only. Was it recorded with a trace (-e intel_pt//)? Then use report or script with --itrace. If not, there is nothing to decode: record one with -e intel_pt//';
  if (findPsb(bytes, 0, bytes.length) >= 0)
    return 'there are synchronization points (PSB) in these bytes, but the packets after each one (up to PSBEND) are cut off or damaged';
  return 'no synchronization point (PSB) in these bytes: this is not an Intel PT trace, or decoding cannot begin in it';
}
