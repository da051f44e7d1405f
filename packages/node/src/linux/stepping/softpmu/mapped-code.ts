import { readFileSync } from 'node:fs';

/** Code of a file in the memory of a process. */
export interface MappedCode {
  start: number;
  end: number;
  /** Where in the file it begins. */
  offset: number;
  path: string;
}

/** `AT_ENTRY` of linux/auxvec.h. */
const AT_ENTRY = 9;

/** Where a program begins, when its libraries are in memory; null: it is gone, or not of 64 bits. */
export function entryOf(tid: number): number | null {
  try {
    const bytes = readFileSync(`/proc/${tid}/auxv`);
    for (let at = 0; at + 16 <= bytes.length; at += 16)
      if (bytes.readBigUInt64LE(at) === BigInt(AT_ENTRY)) return Number(bytes.readBigUInt64LE(at + 8));
  } catch {
    // Gone.
  }
  return null;
}

export function codeOf(tid: number): MappedCode[] {
  let text = '';
  try {
    text = readFileSync(`/proc/${tid}/maps`, 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    const match = /^(\w+)-(\w+) ..x. (\w+) \S+ \d+\s+(\/.*)$/.exec(line);
    if (match === null) return [];
    const [start, end, offset] = match.slice(1, 4).map((hex) => Number.parseInt(hex, 16));
    return [{ start: start!, end: end!, offset: offset!, path: match[4]! }];
  });
}

/** The file that an address is of, and where in it; null: of none. */
export function placeInFile(tid: number, address: number): { path: string; offset: number } | null {
  const code = codeOf(tid).find(({ start, end }) => address >= start && address < end);
  return code === undefined ? null : { path: code.path, offset: address - code.start + code.offset };
}
