/** The kernel's own types (Documentation/bpf/btf.rst), as far as programs need them: numbers of functions. */
import { readFileSync } from 'node:fs';

const PATH = '/sys/kernel/btf/vmlinux';
const MAGIC = 0xeb9f;
const HEADER_SIZE = 24;
const TYPE_SIZE = 12;
const KIND_FUNC = 12;

/** Bytes behind a type of each kind: `[fixed, for each of its members]`. */
const EXTRA_BYTES: readonly (readonly [fixed: number, each: number])[] = [
  [0, 0], // void
  [4, 0], // int
  [0, 0], // pointer
  [12, 0], // array
  [0, 12], // struct
  [0, 12], // union
  [0, 8], // enum
  [0, 0], // forward
  [0, 0], // typedef
  [0, 0], // volatile
  [0, 0], // const
  [0, 0], // restrict
  [0, 0], // function
  [0, 8], // prototype
  [4, 0], // variable
  [0, 12], // section
  [0, 0], // float
  [4, 0], // declaration tag
  [0, 0], // type tag
  [0, 12], // enum of 64 bits
];

/** The number of a function of this kernel; null where it has none of that name, or no BTF. */
export function kernelFunctionId(name: string, path: string = PATH): number | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return null;
  }
  return functionId(bytes, name);
}

/** In bytes as the kernel gives them; null too where they are damaged. */
export function functionId(bytes: Buffer, name: string): number | null {
  if (bytes.length < HEADER_SIZE || bytes.readUInt16LE(0) !== MAGIC) return null;
  const headerSize = bytes.readUInt32LE(4);
  const [types, typesSize, texts, textsSize] = [8, 12, 16, 20].map((at) => bytes.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  const textsAt = headerSize + texts;
  const nameAt = bytes.indexOf(`\0${name}\0`, textsAt, 'latin1') + 1 - textsAt;
  if (nameAt <= 0 || nameAt >= textsSize) return null;
  const end = Math.min(headerSize + types + typesSize, bytes.length);
  let id = 1;
  for (let at = headerSize + types; at + TYPE_SIZE <= end; id++) {
    const info = bytes.readUInt32LE(at + 4);
    const kind = (info >>> 24) & 0x1f;
    if (kind === KIND_FUNC && bytes.readUInt32LE(at) === nameAt) return id;
    const extra = EXTRA_BYTES[kind];
    // A kind of a later kernel: what follows cannot be found.
    if (extra === undefined) return null;
    at += TYPE_SIZE + extra[0] + extra[1] * (info & 0xffff);
  }
  return null;
}
