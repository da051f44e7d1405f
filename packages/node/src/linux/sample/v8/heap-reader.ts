import { closeSync, openSync, readSync } from 'node:fs';

/** A tagged pointer to an object of V8's heap, or a small integer (a Smi). */
export type Tagged = bigint;

const TAG_MASK = 3n;
const STRONG_TAG = 1n;
const SMI_SHIFT = 32n;
/** `Map::instance_type`, exported as the same by all versions. */
const INSTANCE_TYPE = 12;
/** Of `FixedArray` and `ByteArray`. */
const ARRAY_LENGTH = 8;
const ARRAY_DATA = 16;
const STRING_LENGTH = 12;
const STRING_DATA = 16;
const THIN_STRING_ACTUAL = 16;
/** Bits of a string's type (V8's `StringRepresentationTag`, `kStringEncodingMask`). */
const NOT_A_STRING = 0x80;
const ONE_BYTE = 8;
const REPRESENTATION = 7;
const SEQUENTIAL = 0;
const CONS = 1;
const CONS_FIRST = 16;
const CONS_SECOND = 24;
const EXTERNAL = 2;
const THIN = 5;
/** Of a string outside the heap: where its characters are. */
const EXTERNAL_DATA = 24;
const USUAL_ARRAY_BYTES = 1024;
const MOST_ARRAY_BYTES = 64 << 20;
const MOST_STRING_UNITS = 1 << 16;
const MOST_SOURCE_UNITS = 1 << 26;
const MOST_WHOLE_UNITS = 1 << 24;
const MOST_PIECES = 1 << 12;
const MOST_KNOWN_MAPS = 4096;
/** What is read at once of objects that lie near each other. */
const BLOCK_BYTES = 1 << 14;
const MOST_BLOCKS = 4096;

/** What was read is not what should be there: the object was moved, or the layout is another. */
export class HeapMismatch extends Error {
  override readonly name = 'HeapMismatch';
}

/** Where the kernel shows the memory of a process. */
export const memoryOf = (pid: number): string => `/proc/${pid}/mem`;

/** Objects of the heap of another process. Throws HeapMismatch, or the error of opening. */
export class HeapReader implements Disposable {
  readonly #fd: number;
  readonly #typeOfMap = new Map<bigint, number>();
  /** Null: everything is read anew. */
  #blocks: Map<number, Uint8Array | null> | null = null;

  /** `memory`: a file that has the process's memory at its addresses. */
  constructor(memory: string) {
    this.#fd = openSync(memory, 'r');
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  /** Exactly these bytes of the process's memory. */
  bytes(address: bigint, length: number): DataView<ArrayBuffer> {
    const target = new Uint8Array(length);
    if (this.#blocks !== null && this.#copy(this.#blocks, Number(address), target))
      return new DataView(target.buffer);
    let read = 0;
    try {
      read = readSync(this.#fd, target, 0, length, address);
    } catch {
      // Not mapped, or the process has ended.
    }
    if (read !== length) throw new HeapMismatch(`no ${length} bytes at 0x${address.toString(16)}`);
    return new DataView(target.buffer);
  }

  /** Whether there is memory at an address; never after the end of the process. */
  isThere(address: bigint): boolean {
    return this.fill(Number(address), new Uint8Array(1));
  }

  /**
   * As many bytes as fit into `target`, or false: not all of them are there. For large pieces, which are read
   * again and again.
   */
  fill(address: number, target: Uint8Array): boolean {
    try {
      return readSync(this.#fd, target, 0, target.length, BigInt(address)) === target.length;
    } catch {
      return false;
    }
  }

  /**
   * While `read` runs, memory is read in blocks, each of them once: for many objects that lie near each
   * other, and that do not change meanwhile in a way that matters.
   */
  inBlocks<Result>(read: () => Result): Result {
    if (this.#blocks !== null) return read();
    this.#blocks = new Map();
    try {
      return read();
    } finally {
      this.#blocks = null;
    }
  }

  /** False: it is not in blocks. */
  #copy(blocks: Map<number, Uint8Array | null>, address: number, target: Uint8Array): boolean {
    if (target.length > BLOCK_BYTES) return false;
    for (let done = 0; done < target.length; ) {
      const offset = (address + done) % BLOCK_BYTES;
      const start = address + done - offset;
      let block = blocks.get(start);
      if (block === undefined) {
        block = new Uint8Array(BLOCK_BYTES);
        if (!this.fill(start, block)) block = null;
        if (blocks.size >= MOST_BLOCKS) blocks.clear();
        blocks.set(start, block);
      }
      if (block === null) return false;
      const size = Math.min(target.length - done, BLOCK_BYTES - offset);
      target.set(block.subarray(offset, offset + size), done);
      done += size;
    }
    return true;
  }

  /** The first bytes of an object that has this type; any, where it is null. */
  object(tagged: Tagged, length: number, type: number | null): DataView<ArrayBuffer> {
    const view = this.bytes(addressOf(tagged), length);
    if (type !== null && this.#typeOf(field(view, 0)) !== type)
      throw new HeapMismatch(`0x${tagged.toString(16)} is not of type ${type}`);
    return view;
  }

  /** The elements of an array of tagged values. */
  elements(tagged: Tagged): BigUint64Array<ArrayBuffer> {
    const { buffer, byteOffset, byteLength } = this.#array(tagged, 8);
    return new BigUint64Array(buffer, byteOffset, byteLength / 8);
  }

  byteArray(tagged: Tagged): DataView<ArrayBuffer> {
    return this.#array(tagged, 1);
  }

  /** Null: another kind of object, or of string (a part of another one, or outside the heap). */
  text(tagged: Tagged, mayBeThin = true): string | null {
    if (!isObject(tagged)) return null;
    const head = this.bytes(addressOf(tagged), THIN_STRING_ACTUAL + 8);
    const type = this.#typeOf(field(head, 0));
    if (type >= NOT_A_STRING) return null;
    // What a thin string leads to is never thin itself: memory that says so may lead in a circle.
    if ((type & REPRESENTATION) === THIN)
      return mayBeThin ? this.text(field(head, THIN_STRING_ACTUAL), false) : null;
    if ((type & REPRESENTATION) === CONS) return this.wholeSource(tagged) || null;
    const length = head.getUint32(STRING_LENGTH, true);
    if ((type & REPRESENTATION) !== SEQUENTIAL || length > MOST_STRING_UNITS) return null;
    const isOneByte = (type & ONE_BYTE) !== 0;
    const { buffer } = this.bytes(addressOf(tagged) + BigInt(STRING_DATA), isOneByte ? length : 2 * length);
    return Buffer.from(buffer).toString(isOneByte ? 'latin1' : 'utf16le');
  }

  /**
   * The characters of a script's source: Latin-1 bytes or UTF-16 units. Null: it is no string, or a part of
   * another one.
   */
  source(tagged: Tagged, mayBeThin = true): Uint8Array | Uint16Array | null {
    if (!isObject(tagged)) return null;
    const head = this.bytes(addressOf(tagged), EXTERNAL_DATA + 8);
    const type = this.#typeOf(field(head, 0));
    if (type >= NOT_A_STRING) return null;
    const representation = type & REPRESENTATION;
    if (representation === THIN)
      return mayBeThin ? this.source(field(head, THIN_STRING_ACTUAL), false) : null;
    if (representation === CONS) return unitsOf(this.wholeSource(tagged));
    const length = head.getUint32(STRING_LENGTH, true);
    if ((representation !== SEQUENTIAL && representation !== EXTERNAL) || length > MOST_SOURCE_UNITS)
      return null;
    const data =
      representation === EXTERNAL ? field(head, EXTERNAL_DATA) : addressOf(tagged) + BigInt(STRING_DATA);
    const isOneByte = (type & ONE_BYTE) !== 0;
    const { buffer } = this.bytes(data, isOneByte ? length : 2 * length);
    return isOneByte ? new Uint8Array(buffer) : new Uint16Array(buffer);
  }

  /** How long a text is, of whatever pieces; -1: it is none. */
  textUnits(tagged: Tagged): number {
    if (!isObject(tagged)) return -1;
    const head = this.bytes(addressOf(tagged), STRING_DATA);
    return this.#typeOf(field(head, 0)) < NOT_A_STRING ? head.getUint32(STRING_LENGTH, true) : -1;
  }

  /**
   * The text of a script, of one piece or put together of several. Empty: it is no string, or too large.
   */
  wholeSource(tagged: Tagged): string {
    const waiting = [tagged];
    const parts: string[] = [];
    let units = 0;
    for (let pieces = 0; waiting.length > 0; pieces++) {
      const one = waiting.pop()!;
      if (pieces > MOST_PIECES || !isObject(one)) return '';
      const head = this.bytes(addressOf(one), CONS_SECOND + 8);
      const type = this.#typeOf(field(head, 0));
      // Circles end by the number of pieces.
      if (type < NOT_A_STRING && (type & REPRESENTATION) === CONS) {
        waiting.push(field(head, CONS_SECOND), field(head, CONS_FIRST));
        continue;
      }
      if (type < NOT_A_STRING && (type & REPRESENTATION) === THIN) {
        waiting.push(field(head, THIN_STRING_ACTUAL));
        continue;
      }
      const text = this.source(one);
      units += text?.length ?? MOST_WHOLE_UNITS;
      if (text === null || units >= MOST_WHOLE_UNITS) return '';
      const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
      parts.push(bytes.toString(text instanceof Uint8Array ? 'latin1' : 'utf16le'));
    }
    return parts.join('');
  }

  /** Of an object; -1: it is none. */
  typeOf(tagged: Tagged): number {
    return isObject(tagged) ? this.#typeOf(field(this.bytes(addressOf(tagged), 8), 0)) : -1;
  }

  /** Of objects that have this map. */
  typeOfMap(map: Tagged): number {
    return this.#typeOf(map);
  }

  isOfType(tagged: Tagged, type: number): boolean {
    return isObject(tagged) && this.#typeOf(field(this.bytes(addressOf(tagged), 8), 0)) === type;
  }

  /** Its elements. One call of the kernel reads as much as most arrays have. */
  #array(tagged: Tagged, elementBytes: number): DataView<ArrayBuffer> {
    const address = addressOf(tagged);
    const view = this.#upTo(address, USUAL_ARRAY_BYTES);
    if (view.byteLength < ARRAY_DATA) throw new HeapMismatch(`no array at 0x${address.toString(16)}`);
    const length = smi(field(view, ARRAY_LENGTH));
    const size = (length ?? -1) * elementBytes;
    if (size < 0 || size > MOST_ARRAY_BYTES) throw new HeapMismatch(`${length} is no length of an array`);
    if (ARRAY_DATA + size <= view.byteLength) return new DataView(view.buffer, ARRAY_DATA, size);
    return this.bytes(address + BigInt(ARRAY_DATA), size);
  }

  /** Fewer where the memory ends. */
  #upTo(address: bigint, length: number): DataView<ArrayBuffer> {
    const target = new Uint8Array(length);
    try {
      return new DataView(target.buffer, 0, readSync(this.#fd, target, 0, length, address));
    } catch {
      return new DataView(target.buffer, 0, 0);
    }
  }

  #typeOf(map: Tagged): number {
    let type = this.#typeOfMap.get(map);
    if (type === undefined) {
      if (!isObject(map)) throw new HeapMismatch('an object without a map');
      type = this.bytes(addressOf(map) + BigInt(INSTANCE_TYPE), 2).getUint16(0, true);
      if (this.#typeOfMap.size >= MOST_KNOWN_MAPS) this.#typeOfMap.clear();
      this.#typeOfMap.set(map, type);
    }
    return type;
  }
}

/** Null: there are none. */
function unitsOf(text: string): Uint16Array | null {
  return text === '' ? null : Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

export function field(object: DataView, offset: number): Tagged {
  // A program may export any number as the place of a field.
  if (!(offset >= 0 && offset + 8 <= object.byteLength)) throw new HeapMismatch(`no field at ${offset}`);
  return object.getBigUint64(offset, true);
}

/** The value of a Smi; null: it is a pointer. */
export function smi(tagged: Tagged): number | null {
  return (tagged & 1n) === 0n ? Number(BigInt.asIntN(64, tagged) >> SMI_SHIFT) : null;
}

export function isObject(tagged: Tagged): boolean {
  return (tagged & 1n) === 1n;
}

/** Weak pointers (tag 3) lead to their object, too. */
export function addressOf(tagged: Tagged): bigint {
  if ((tagged & STRONG_TAG) === 0n) throw new HeapMismatch(`${tagged} is no object`);
  return tagged & ~TAG_MASK;
}
