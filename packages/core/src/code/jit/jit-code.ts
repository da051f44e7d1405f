import { type ByteSource, DamageLog, FormatError, TWO_32, toSignedFloat } from '../../base/index.ts';
import { type JitCodeLines, JitCodeTable, type LoadedCode, type MovedCode } from './jit-code-table.ts';
import {
  JIT_CODE_LOAD,
  JIT_CODE_MOVE,
  JIT_CODE_UNWINDING_INFO,
  JIT_LOAD_BYTES,
  JIT_MOVE_BYTES,
  JIT_RECORD_HEADER_BYTES,
  JIT_UNWINDING_BYTES,
  JITDUMP_ARCH_TIMESTAMP,
  JITDUMP_HEADER_BYTES,
  JITDUMP_MAGIC,
} from './jitdump-facts.ts';

/** What a jitdump says of code. */
export interface JitCode extends JitCodeLines {
  /** Times are TSC values. */
  hasArchTimes: boolean;
  /** ELF machine number, EM_*. */
  machine: number;
  /** Byte order of the machine that wrote it. */
  littleEndian: boolean;
  /** What was skipped: `jitdump-record`, `jitdump-cut`, `jitdump-large`. */
  damage: DamageLog;
}

/** Beyond it nothing is read. */
const MOST_DUMP_BYTES = 2 ** 30;
const PIECE_BYTES = 1 << 20;
const MOST_NAME_BYTES = 1 << 16;
/** That of one piece of code has some hundred bytes. */
const MOST_FRAME_BYTES = 1 << 16;
const MOST_CODE_BYTES = 1 << 28;
/** A large program of Node has some hundred thousand. */
const MOST_LINES = 1 << 22;

/**
 * Reads a jitdump piece by piece: code is skipped, so that of a large dump only names and
 * places are in memory. Throws FormatError where the bytes are no jitdump; what does not hold
 * together is counted and skipped.
 */
export async function readJitCode(
  source: ByteSource,
  { frames = false }: { frames?: boolean } = {},
): Promise<JitCode> {
  const end = Math.min(source.size, MOST_DUMP_BYTES);
  const pieces = new Pieces(source, end);
  const damage = new DamageLog();
  await pieces.need(0, JITDUMP_HEADER_BYTES);
  const littleEndian = pieces.detectByteOrder();
  const table = new JitCodeTable(end);
  let unwinding: Uint8Array | null = null;
  let at = Math.max(JITDUMP_HEADER_BYTES, pieces.u32(8));
  const [machine, flags] = [pieces.u32(12), pieces.u32(littleEndian ? 32 : 36)];
  while (at < end) {
    await pieces.need(at, JIT_RECORD_HEADER_BYTES);
    const isWhole = pieces.has(at, JIT_RECORD_HEADER_BYTES);
    const size = isWhole ? pieces.u32(at + 4) : 0;
    if (size < JIT_RECORD_HEADER_BYTES || at + size > end) break;
    if (table.count === MOST_LINES) break;
    const type = pieces.u32(at);
    await pieces.need(at, Math.min(size, bytesWanted(type, frames)));
    switch (type) {
      case JIT_CODE_LOAD: {
        const load = readLoad(pieces, at, at + size);
        if (load === null) damage.add('jitdump-record', at);
        else table.load(load, unwinding);
        unwinding = null;
        break;
      }
      case JIT_CODE_MOVE: {
        const move = readMove(pieces, at, at + size);
        if (move === null || !table.move(move)) damage.add('jitdump-record', at);
        break;
      }
      case JIT_CODE_UNWINDING_INFO:
        // Of the code whose load follows.
        if (frames) unwinding = readFrames(pieces, at, at + size);
        break;
    }
    at += size;
  }
  if (table.count === MOST_LINES || (at >= end && end < source.size)) damage.add('jitdump-large', at);
  else if (at !== end) damage.add('jitdump-cut', Math.min(at, end));
  const hasArchTimes = (flags & JITDUMP_ARCH_TIMESTAMP) !== 0;
  return { ...table.finish(), hasArchTimes, machine, littleEndian, damage };
}

/** Of a record, from its beginning. */
function bytesWanted(type: number, frames: boolean): number {
  switch (type) {
    case JIT_CODE_LOAD:
      return JIT_RECORD_HEADER_BYTES + JIT_LOAD_BYTES + MOST_NAME_BYTES;
    case JIT_CODE_MOVE:
      return JIT_RECORD_HEADER_BYTES + JIT_MOVE_BYTES;
    case JIT_CODE_UNWINDING_INFO:
      return frames ? JIT_RECORD_HEADER_BYTES + JIT_UNWINDING_BYTES + MOST_FRAME_BYTES : 0;
    default:
      return 0;
  }
}

function readLoad(pieces: Pieces, at: number, end: number): LoadedCode | null {
  const body = at + JIT_RECORD_HEADER_BYTES;
  const nameAt = body + JIT_LOAD_BYTES;
  if (nameAt >= end || !pieces.has(body, JIT_LOAD_BYTES)) return null;
  const name = pieces.bytes(nameAt, Math.min(end, nameAt + MOST_NAME_BYTES));
  const nameBytes = name.indexOf(0);
  if (nameBytes === -1) return null;
  const sizeBytes = pieces.u64(body + 24);
  const codeBytes = end - nameAt - nameBytes - 1;
  // No bytes at all is allowed: some runtimes write only names.
  if (sizeBytes > (codeBytes > 0 ? codeBytes : MOST_CODE_BYTES)) return null;
  return {
    timeNs: pieces.u64(at + 8),
    start: pieces.address(body + 16),
    sizeBytes,
    codeIndex: pieces.u64(body + 32),
    name: name.subarray(0, nameBytes),
  };
}

function readMove(pieces: Pieces, at: number, end: number): MovedCode | null {
  const body = at + JIT_RECORD_HEADER_BYTES;
  if (body + JIT_MOVE_BYTES > end || !pieces.has(body, JIT_MOVE_BYTES)) return null;
  return {
    timeNs: pieces.u64(at + 8),
    start: pieces.address(body + 24),
    codeIndex: pieces.u64(body + 40),
  };
}

/** A copy of `.eh_frame`, which `.eh_frame_hdr` follows; null where there is none. */
function readFrames(pieces: Pieces, at: number, end: number): Uint8Array | null {
  const body = at + JIT_RECORD_HEADER_BYTES;
  const data = body + JIT_UNWINDING_BYTES;
  if (data >= end || !pieces.has(body, JIT_UNWINDING_BYTES)) return null;
  const sizeBytes = pieces.u64(body) - pieces.u64(body + 8);
  const isThere = sizeBytes > 0 && sizeBytes <= MOST_FRAME_BYTES && data + sizeBytes <= end;
  return isThere && pieces.has(data, sizeBytes) ? pieces.bytes(data, data + sizeBytes).slice() : null;
}

/** The stretch of a file that is in memory. */
class Pieces {
  readonly #source: ByteSource;
  readonly #end: number;
  #from = 0;
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #littleEndian = true;

  constructor(source: ByteSource, end: number) {
    this.#source = source;
    this.#end = end;
  }

  has(at: number, sizeBytes: number): boolean {
    return at >= this.#from && at + sizeBytes <= this.#from + this.#bytes.length;
  }

  /** Reads on from `at`, where that is needed. Where the file ends before, `has` tells it. */
  async need(at: number, sizeBytes: number): Promise<void> {
    if (this.has(at, sizeBytes)) return;
    const wanted = Math.min(Math.max(sizeBytes, PIECE_BYTES), this.#end - at);
    this.#from = at;
    this.#bytes = await this.#source.read(at, Math.max(0, wanted));
    const { buffer, byteOffset, length } = this.#bytes;
    this.#view = new DataView(buffer, byteOffset, length);
  }

  /** By the magic, which is in memory if the file has a header. */
  detectByteOrder(): boolean {
    if (!this.has(0, JITDUMP_HEADER_BYTES))
      throw new FormatError(
        'ERR_NOT_JITDUMP',
        0,
        `a jitdump header of ${JITDUMP_HEADER_BYTES} bytes`,
        `${this.#bytes.length} bytes`,
      );
    this.#littleEndian = this.#view.getUint32(0, true) === JITDUMP_MAGIC;
    if (!this.#littleEndian && this.#view.getUint32(0, false) !== JITDUMP_MAGIC)
      throw new FormatError('ERR_NOT_JITDUMP', 0, 'the magic JiTD', 'other bytes');
    return this.#littleEndian;
  }

  u32(at: number): number {
    return this.#view.getUint32(at - this.#from, this.#littleEndian);
  }

  /** Above 2^53 it is rounded. */
  u64(at: number): number {
    const [lo, hi] = this.#halves(at);
    return hi * TWO_32 + lo;
  }

  /** Signed, as addresses are. */
  address(at: number): number {
    return toSignedFloat(...this.#halves(at));
  }

  /** A view: up to `end`, or as far as there is memory. */
  bytes(at: number, end: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(at - this.#from, end - this.#from);
  }

  #halves(at: number): [lo: number, hi: number] {
    const le = this.#littleEndian;
    const [first, second] = [this.u32(at), this.u32(at + 4)];
    return le ? [first, second] : [second, first];
  }
}
