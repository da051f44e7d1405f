import type { ByteSource } from '../../base/index.ts';
import { archiveError } from './archive-error.ts';
import {
  BLOCK_BYTES,
  CHECKSUM,
  LINK_NAME,
  NAME,
  PREFIX,
  paddedSize,
  SIZE,
  TYPE_AT,
  TYPE_EXTENDED,
  TYPE_FILE,
  TYPE_LINK,
  TYPE_LONG_LINK,
  TYPE_LONG_NAME,
} from './tar-facts.ts';

/** An entry of a tar: a file or a link. Others (folders, devices) are left out. */
export interface TarEntry {
  /** As the tar has it, without `./` and `/` at its start. */
  name: string;
  /** Where its data begins. */
  offset: number;
  /** Bytes of its data, as far as they are there. */
  size: number;
  /** Where the link leads, as the tar says it; null for a file. */
  linkTarget: string | null;
}

const MOST_ENTRIES = 200_000;
const MOST_NAME_BYTES = 1 << 16;

/** All entries, in their order. `isCut`: it ends before its end, or is damaged from somewhere on. */
export async function readTar(source: ByteSource): Promise<{ entries: TarEntry[]; isCut: boolean }> {
  const entries: TarEntry[] = [];
  let long: { name?: string; link?: string; size?: number } = {};
  for (let at = 0; at + BLOCK_BYTES <= source.size && entries.length < MOST_ENTRIES; ) {
    const head = await source.read(at, BLOCK_BYTES);
    if (head.length < BLOCK_BYTES) break;
    if (head.every((byte) => byte === 0)) return { entries, isCut: false };
    if (!hasGoodSum(head)) {
      if (entries.length === 0) throw archiveError('not a tar: its first header has a wrong sum');
      break;
    }
    const type = String.fromCharCode(head[TYPE_AT]!);
    const stated = long.size ?? numberAt(head, SIZE);
    if (!Number.isSafeInteger(stated)) break;
    const offset = at + BLOCK_BYTES;
    const size = Math.max(0, Math.min(stated, source.size - offset));
    at = offset + paddedSize(stated);
    if (type === TYPE_LONG_NAME || type === TYPE_LONG_LINK || type === TYPE_EXTENDED) {
      if (size > MOST_NAME_BYTES) break;
      const data = await source.read(offset, size);
      if (type === TYPE_EXTENDED) long = { ...long, ...extendedFields(data) };
      else long[type === TYPE_LONG_NAME ? 'name' : 'link'] = textOf(data);
      continue;
    }
    if (type === TYPE_FILE || type === '\0' || type === TYPE_LINK) {
      const prefix = isUstar(head) ? textAt(head, PREFIX) : '';
      const name = long.name ?? (prefix === '' ? '' : `${prefix}/`) + textAt(head, NAME);
      const linkTarget = type === TYPE_LINK ? (long.link ?? textAt(head, LINK_NAME)) : null;
      entries.push({ name: name.replace(/^(?:\.?\/+)+/, ''), offset, size, linkTarget });
    }
    long = {};
  }
  return { entries, isCut: true };
}

/** POSIX's magic, whose prefix is a part of the name. */
function isUstar(head: Uint8Array): boolean {
  return textAt(head, [257, 6]) === 'ustar' && head[262] === 0;
}

function hasGoodSum(head: Uint8Array): boolean {
  let sum = 0;
  for (let at = 0; at < BLOCK_BYTES; at++)
    sum += at >= CHECKSUM[0] && at < CHECKSUM[0] + CHECKSUM[1] ? 0x20 : head[at]!;
  return sum === numberAt(head, CHECKSUM);
}

/** Octal; or, with the highest bit set, binary (GNU, for files from 8 GiB on). */
function numberAt(head: Uint8Array, [at, width]: readonly [number, number]): number {
  if ((head[at]! & 0x80) === 0) {
    const text = textAt(head, [at, width]).trim();
    return /^[0-7]*$/.test(text) ? Number.parseInt(text || '0', 8) : Number.NaN;
  }
  let value = head[at]! & 0x7f;
  for (let next = at + 1; next < at + width; next++) value = value * 256 + head[next]!;
  return value;
}

function textAt(bytes: Uint8Array, [at, width]: readonly [number, number]): string {
  return textOf(bytes.subarray(at, at + width));
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** `27 path=usr/bin/ls`: the number is the length of the line with itself. */
function extendedFields(data: Uint8Array): { name?: string; link?: string; size?: number } {
  const fields: { name?: string; link?: string; size?: number } = {};
  const text = new TextDecoder();
  for (let at = 0; at < data.length; ) {
    const blank = data.indexOf(0x20, at);
    const length = blank < 0 ? 0 : Number(text.decode(data.subarray(at, blank)));
    if (!(length > 0) || at + length > data.length) break;
    const line = text.decode(data.subarray(blank + 1, at + length - 1));
    const equals = line.indexOf('=');
    const [key, value] = [line.slice(0, equals), line.slice(equals + 1)];
    if (key === 'path') fields.name = value;
    if (key === 'linkpath') fields.link = value;
    if (key === 'size') fields.size = Number(value);
    at += length;
  }
  return fields;
}
