/** The kernel's own types (Documentation/bpf/btf.rst), as far as programs need them: numbers of functions. */
import { readFileSync } from 'node:fs';

const PATH = '/sys/kernel/btf/vmlinux';
const MAGIC = 0xeb9f;
const HEADER_SIZE = 24;
const TYPE_SIZE = 12;
const KIND_STRUCT = 4;
const KIND_UNION = 5;
const KIND_FUNC = 12;
/** The bit of `info` that says that offsets of members have the size of a bit field above them. */
const KIND_FLAG = 0x8000_0000;

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

/**
 * Where a member of a struct of this kernel is, in bytes; null where there is no such struct or member, or no
 * BTF. Members of nameless structs and unions in it are its own.
 */
export function kernelMemberOffset(struct: string, member: string, path: string = PATH): number | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return null;
  }
  return memberOffset(bytes, struct, member);
}

/** In bytes as the kernel gives them; null too where they are damaged. */
export function memberOffset(bytes: Buffer, struct: string, member: string): number | null {
  const types = new BtfTypes(bytes);
  const id = types.find(KIND_STRUCT, struct);
  return id === null ? null : types.memberOffset(id, member, new Set());
}

/** The types, by where they are. */
class BtfTypes {
  readonly #bytes: Buffer;
  readonly #textsAt: number;
  /** By number; 0 is void. */
  readonly #places: number[] = [0];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#textsAt = bytes.length;
    if (bytes.length < HEADER_SIZE || bytes.readUInt16LE(0) !== MAGIC) return;
    const headerSize = bytes.readUInt32LE(4);
    this.#textsAt = headerSize + bytes.readUInt32LE(16);
    const begin = headerSize + bytes.readUInt32LE(8);
    const end = Math.min(begin + bytes.readUInt32LE(12), bytes.length);
    for (let at = begin; at + TYPE_SIZE <= end; ) {
      this.#places.push(at);
      const info = bytes.readUInt32LE(at + 4);
      const extra = EXTRA_BYTES[(info >>> 24) & 0x1f];
      // A kind of a later kernel: what follows cannot be found.
      if (extra === undefined) return;
      at += TYPE_SIZE + extra[0] + extra[1] * (info & 0xffff);
    }
  }

  find(kind: number, name: string): number | null {
    for (let id = 1; id < this.#places.length; id++)
      if (this.#kind(id) === kind && this.#isNamed(this.#places[id]!, name)) return id;
    return null;
  }

  /** `seen`: damaged types may be in each other. */
  memberOffset(id: number, name: string, seen: Set<number>): number | null {
    const place = this.#places[id];
    if (place === undefined || seen.has(id)) return null;
    seen.add(id);
    const info = this.#u32(place + 4);
    for (let index = 0; index < (info & 0xffff); index++) {
      const at = place + TYPE_SIZE + index * 12;
      const [nameAt, type, raw] = [this.#u32(at), this.#u32(at + 4), this.#u32(at + 8)];
      const bits = (info & KIND_FLAG) === 0 ? raw : raw & 0xff_ffff;
      if (nameAt !== 0) {
        if (this.#isNamed(at, name)) return bits / 8;
        continue;
      }
      const kind = this.#kind(type);
      if (kind !== KIND_STRUCT && kind !== KIND_UNION) continue;
      const inner = this.memberOffset(type, name, seen);
      if (inner !== null) return bits / 8 + inner;
    }
    return null;
  }

  #kind(id: number): number {
    const place = this.#places[id];
    return place === undefined ? 0 : (this.#u32(place + 4) >>> 24) & 0x1f;
  }

  /** Whether the name at this place is so. */
  #isNamed(at: number, name: string): boolean {
    const from = this.#textsAt + this.#u32(at);
    return this.#bytes.toString('latin1', from, from + name.length + 1) === `${name}\0`;
  }

  #u32(at: number): number {
    return at + 4 <= this.#bytes.length ? this.#bytes.readUInt32LE(at) : 0;
  }
}
