import { encodeUtf8, FormatError, TWO_32 } from '../../base/index.ts';
import { joinVarints, VarintReader, VarintWriter } from './varints.ts';

/**
 * Optimised code has the code of the functions that it calls inside it. What V8 knows of one such piece
 * of code: which function was put where, and which instruction belongs to which of them.
 *
 *     outer()                        code of `outer`
 *       middle()   inlined: call 0     0x00  outer  14:15
 *         inner()  inlined: call 1     0x41  inner   3:17   in call 1, which is in call 0
 */
export interface InlinedCode {
  /** The name as the perf map has it, with the tier. */
  recordedName: string;
  /** Where the recorded name does not say which function it is, because `eval` made it. */
  functionName?: string;
  /** Address of the first byte, and length in bytes. */
  start: number;
  /** Of the code, in bytes. */
  size: number;
  /** Calls whose function is inside; a caller comes before what it calls. */
  calls: readonly InlinedCall[];
  /** Where instructions come from, by ascending offset. */
  positions: readonly CodePosition[];
}

/** A call whose function is inside the code of its caller. */
export interface InlinedCall {
  /** As a perf map writes it. */
  functionName: string;
  /** The call that this one is in; -1: the function that was compiled. */
  parent: number;
  /** Where in the function that it is in. From 1; 0: unknown. */
  line: number;
  /** Of that place. From 1; 0: unknown. */
  column: number;
}

/** From which line of which function instructions come, from an offset on. */
export interface CodePosition {
  /** Of the first instruction, from the start of the code. It holds until the next position. */
  offset: number;
  /** Row of `calls`, or -1: the function that was compiled. */
  call: number;
  /** From 1; 0: unknown. */
  line: number;
  /** From 1; 0: unknown. */
  column: number;
}

const VERSION = 3;
/** Had no names of functions that `eval` made. */
const VERSION_WITHOUT_OWN_NAMES = 2;
/** Had no places of calls. */
const VERSION_WITHOUT_PLACES = 1;
/** A program has fewer of them; what says more is damaged. */
const MOST_NAMES = 1 << 20;

/**
 * All pieces of one process, as varints (LEB128). A program may make code for as long as it runs: a
 * piece is some hundred bytes here, and a hundred times that as objects.
 *
 *     version | names: count, (length, UTF-8) ... | pieces: count, piece ...
 *     piece    name | name of what `eval` made + 1, or 0 | start: high, low | size | calls: count, (name, parent + 1, line, column) ... | positions: count, position ...
 *     position offset - the one before | call + 1 | line | column
 */
export class InlinedCodeWriter {
  readonly #rows = new Map<string, number>();
  readonly #names = new VarintWriter();
  readonly #pieces = new VarintWriter();
  #count = 0;

  /** Of what was added, without its head. */
  get sizeBytes(): number {
    return this.#names.length + this.#pieces.length;
  }

  /** Pieces that were added. */
  get count(): number {
    return this.#count;
  }

  /** Of two pieces at one place the later one holds. */
  add({ recordedName, functionName, start, size, calls, positions }: InlinedCode): void {
    this.#count++;
    const body = this.#pieces;
    const high = Math.floor(start / TWO_32);
    const own = functionName === undefined ? 0 : this.#rowOf(functionName) + 1;
    body.add(this.#rowOf(recordedName), own, high, start - high * TWO_32, size, calls.length);
    for (const { functionName, parent, line, column } of calls)
      body.add(this.#rowOf(functionName), parent + 1, line, column);
    body.add(positions.length);
    let before = 0;
    for (const { offset, call, line, column } of positions) {
      body.add(offset - before, call + 1, line, column);
      before = offset;
    }
  }

  /** All that was added, as `decodeInlinedCode` reads it. More can be added afterwards. */
  bytes(): Uint8Array<ArrayBuffer> {
    const head = new VarintWriter();
    head.add(VERSION, this.#rows.size);
    const count = new VarintWriter();
    count.add(this.#count);
    return joinVarints([head, this.#names, count, this.#pieces]);
  }

  #rowOf(name: string): number {
    let row = this.#rows.get(name);
    if (row === undefined) {
      row = this.#rows.size;
      this.#rows.set(name, row);
      this.#names.addText(name);
    }
    return row;
  }
}

/** Of a piece: two names, two halves of an address, a size, two counts. */
const LEAST_PIECE_BYTES = 6;
const LEAST_CALL_BYTES = 2;
const LEAST_POSITION_BYTES = 4;
/** Of pieces whose hashes are equal: nobody makes more of them by chance. */
const MOST_STEPS = 64;
const NONE = -1;

/**
 * The pieces that an `InlinedCodeWriter` wrote. All bytes are checked once; objects are made of a piece when
 * it is asked for, since hostile bytes may be millions of pieces. Throws FormatError (`ERR_INLINED_CODE`)
 * where the bytes do not hold together.
 */
export class InlinedCodeTable {
  readonly count: number;
  readonly #bytes: Uint8Array;
  readonly #version: number;
  /** Where texts begin, with their length before them. */
  readonly #nameAt: Uint32Array;
  readonly #nameHash: Uint32Array;
  readonly #texts = new Map<number, string>();
  readonly #pieceAt: Uint32Array;
  /** Of pieces that have a name of what `eval` made. */
  readonly #hasOwnName: Uint8Array;
  /** By hash: the last piece; by piece: the one before. */
  readonly #heads: Int32Array;
  readonly #before: Int32Array;

  constructor(bytes: Uint8Array) {
    const reader = new VarintReader(bytes);
    const version = reader.read();
    if (version !== VERSION && version !== VERSION_WITHOUT_OWN_NAMES && version !== VERSION_WITHOUT_PLACES) {
      throw new FormatError('ERR_INLINED_CODE', 0, `inlined code of version ${VERSION}`, `${version}`);
    }
    this.#bytes = bytes;
    this.#version = version;
    const names = reader.count(MOST_NAMES);
    this.#nameAt = new Uint32Array(names);
    this.#nameHash = new Uint32Array(names);
    for (let name = 0; name < names; name++) {
      this.#nameAt[name] = reader.at;
      this.#nameHash[name] = hashOf(reader.textBytes());
    }
    this.count = reader.count(Number.POSITIVE_INFINITY, LEAST_PIECE_BYTES);
    this.#pieceAt = new Uint32Array(this.count);
    this.#hasOwnName = new Uint8Array(this.count);
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(this.count + 1))).fill(NONE);
    this.#before = new Int32Array(this.count);
    for (let row = 0; row < this.count; row++) this.#check(reader, row);
  }

  /** The last piece of a copy of a function; null: nothing is known of it. */
  find(start: number, size: number, recordedName: string): InlinedCode | null {
    const hash = this.#slot(start, size, hashOf(encodeUtf8(recordedName)));
    let row = this.#heads[hash]!;
    for (let steps = 0; row !== NONE && steps < MOST_STEPS; steps++) {
      const head = this.#head(new VarintReader(this.#bytes, this.#pieceAt[row]!));
      if (head.start === start && head.size === size && this.#name(head.name) === recordedName)
        return this.piece(row);
      row = this.#before[row]!;
    }
    return null;
  }

  /** Rows are in the order in which pieces were written. */
  piece(row: number): InlinedCode {
    const reader = new VarintReader(this.#bytes, this.#pieceAt[row]!);
    const { name, own, start, size } = this.#head(reader);
    const hasPlaces = this.#version !== VERSION_WITHOUT_PLACES;
    const calls = Array.from({ length: reader.read() }, () => ({
      functionName: this.#name(reader.read()),
      parent: reader.read() - 1,
      line: hasPlaces ? reader.read() : 0,
      column: hasPlaces ? reader.read() : 0,
    }));
    let offset = 0;
    const positions = Array.from({ length: reader.read() }, () => {
      offset += reader.read();
      return { offset, call: reader.read() - 1, line: reader.read(), column: reader.read() };
    });
    const piece = { recordedName: this.#name(name), start, size, calls, positions };
    return own === 0 ? piece : { ...piece, functionName: this.#name(own - 1) };
  }

  /** Names of pieces of what `eval` made: that of the map, and that of the function. */
  *evaluated(): Generator<{ recordedName: string; functionName: string }> {
    for (let row = 0; row < this.count; row++) {
      if (this.#hasOwnName[row] === 0) continue;
      const { name, own } = this.#head(new VarintReader(this.#bytes, this.#pieceAt[row]!));
      yield { recordedName: this.#name(name), functionName: this.#name(own - 1) };
    }
  }

  #check(reader: VarintReader, row: number): void {
    const names = this.#nameAt.length;
    const hasPlaces = this.#version !== VERSION_WITHOUT_PLACES;
    this.#pieceAt[row] = reader.at;
    const name = reader.below(names);
    if (this.#version === VERSION && reader.below(names + 1) > 0) this.#hasOwnName[row] = 1;
    const high = reader.read();
    const start = high * TWO_32 + reader.read();
    const size = reader.read();
    const calls = reader.count(Number.POSITIVE_INFINITY, LEAST_CALL_BYTES);
    for (let call = 0; call < calls; call++) {
      reader.below(names);
      reader.below(call + 1);
      if (!hasPlaces) continue;
      reader.read();
      reader.read();
    }
    const positions = reader.count(Number.POSITIVE_INFINITY, LEAST_POSITION_BYTES);
    for (let position = 0; position < positions; position++) {
      reader.read();
      reader.below(calls + 1);
      reader.read();
      reader.read();
    }
    const slot = this.#slot(start, size, this.#nameHash[name]!);
    this.#before[row] = this.#heads[slot]!;
    this.#heads[slot] = row;
  }

  #head(reader: VarintReader): { name: number; own: number; start: number; size: number } {
    const name = reader.read();
    const own = this.#version === VERSION ? reader.read() : 0;
    const high = reader.read();
    return { name, own, start: high * TWO_32 + reader.read(), size: reader.read() };
  }

  #slot(start: number, size: number, nameHash: number): number {
    let hash = Math.imul(nameHash ^ start ^ (start / TWO_32), HASH_PRIME);
    hash = Math.imul(hash ^ (hash >>> 15) ^ size, HASH_PRIME);
    return (hash ^ (hash >>> 13)) & (this.#heads.length - 1);
  }

  #name(name: number): string {
    let text = this.#texts.get(name);
    if (text === undefined)
      this.#texts.set(name, (text = new VarintReader(this.#bytes, this.#nameAt[name]!).text()));
    return text;
  }
}

/** FNV-1a, 32 bits. */
const HASH_START = 0x811c9dc5;
const HASH_PRIME = 0x01000193;

function hashOf(bytes: Uint8Array): number {
  let hash = HASH_START;
  for (let at = 0; at < bytes.length; at++) hash = Math.imul(hash ^ bytes[at]!, HASH_PRIME);
  return hash >>> 0;
}

/** All pieces of an `InlinedCodeTable` as objects, which take many times the memory of the bytes. */
export function decodeInlinedCode(bytes: Uint8Array): InlinedCode[] {
  const table = new InlinedCodeTable(bytes);
  return Array.from({ length: table.count }, (_, row) => table.piece(row));
}

/** A function that an instruction belongs to, and where in its source. */
export interface CodePlace {
  /** Row of `InlinedCode.calls`, or -1: the function that was compiled. */
  call: number;
  line: number;
  column: number;
}

/**
 * The functions that an instruction is in, innermost first; the last one is that which was
 * compiled. Empty where nothing is known of the offset.
 */
export function codePlacesAt(code: InlinedCode, offset: number): CodePlace[] {
  let at: CodePlace | null = positionAt(code.positions, offset);
  const places: CodePlace[] = [];
  while (at !== null) {
    const { call, line, column } = at;
    places.push({ call, line, column });
    const outer: InlinedCall | undefined = code.calls[call];
    at = outer === undefined ? null : { call: outer.parent, line: outer.line, column: outer.column };
  }
  return places;
}

function positionAt(positions: readonly CodePosition[], offset: number): CodePosition | null {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (positions[middle]!.offset <= offset) low = middle + 1;
    else high = middle;
  }
  return positions[low - 1] ?? null;
}
