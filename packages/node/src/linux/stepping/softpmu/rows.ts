/**
 * Samples and pieces of traces on their way from the tracer to its parent: words of 32 bits, in the order of
 * this machine. A sample:
 *
 *     0  words of the row      4  ip       8  time        12 …  return addresses,
 *     1  number of the event   6  target  10  CPU               innermost first
 *     2  process               (two each) 11  how many
 *     3  thread                                return addresses
 *
 * A piece of a trace:
 *
 *     0  words of the row      3  thread                 6  how many bytes
 *     1  TRACE_PIECE           4  TSC at its beginning   7 …  the bytes
 *     2  process               (two)
 */
const HEAD_WORDS = 12;
const PIECE_HEAD_WORDS = 7;
const TRACE_PIECE = 0xffff_ffff;
const HIGH = 2 ** 32;
/** As many callers as the kernel gives. */
export const MOST_CALLERS = 127;
const BUFFER_WORDS = 1 << 14;
const MOST_ROW_WORDS = HEAD_WORDS + 2 * MOST_CALLERS;
const WORD_BYTES = 4;

/** A sample of a soft event. */
export interface SoftSample {
  /** Its place among the events that were asked for. */
  event: number;
  pid: number;
  tid: number;
  /** The instruction that was the event. */
  ip: number;
  /** Where it led, of a branch; else 0. */
  target: number;
  /** CLOCK_MONOTONIC. */
  timeNs: bigint;
  /** -1: not known. */
  cpu: number;
  /** Return addresses, innermost first. */
  callers: readonly number[];
}

/** Packets of one thread, that go on from its last piece. */
export interface SoftTracePiece {
  pid: number;
  tid: number;
  /** 0 without times. */
  tsc: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Writes rows into pieces, for `write` to send off. */
export class RowWriter {
  readonly #words = new Uint32Array(BUFFER_WORDS);
  #length = 0;
  readonly #write: (bytes: Uint8Array) => void;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  add({ event, pid, tid, ip, target, timeNs, cpu, callers }: SoftSample): void {
    if (this.#length + MOST_ROW_WORDS > BUFFER_WORDS) this.flush();
    const count = Math.min(callers.length, MOST_CALLERS);
    this.#put(HEAD_WORDS + 2 * count);
    this.#put(event);
    this.#put(pid);
    this.#put(tid);
    this.#putAddress(ip);
    this.#putAddress(target);
    this.#put(Number(timeNs & 0xffff_ffffn));
    this.#put(Number(timeNs >> 32n));
    this.#put(cpu);
    this.#put(count);
    for (let index = 0; index < count; index++) this.#putAddress(callers[index]!);
  }

  addPiece({ pid, tid, tsc, bytes }: SoftTracePiece): void {
    const words = PIECE_HEAD_WORDS + Math.ceil(bytes.length / WORD_BYTES);
    if (this.#length + words > BUFFER_WORDS) this.flush();
    this.#put(words);
    this.#put(TRACE_PIECE);
    this.#put(pid);
    this.#put(tid);
    this.#putAddress(tsc);
    this.#put(bytes.length);
    new Uint8Array(this.#words.buffer).set(bytes, WORD_BYTES * this.#length);
    this.#length += words - PIECE_HEAD_WORDS;
  }

  flush(): void {
    if (this.#length === 0) return;
    this.#write(new Uint8Array(this.#words.buffer, 0, WORD_BYTES * this.#length));
    this.#length = 0;
  }

  #put(word: number): void {
    this.#words[this.#length++] = word;
  }

  /** Exact below 2^53; only the vsyscall page is above. */
  #putAddress(address: number): void {
    this.#put(address % HIGH);
    this.#put(address / HIGH);
  }
}

/** Puts the rows together again, however the bytes were cut on their way. */
export class RowReader {
  #rest: Uint8Array = new Uint8Array(0);

  /** What is whole with these bytes. */
  *read(bytes: Uint8Array): Generator<SoftSample | SoftTracePiece> {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const words = new Uint32Array(all.buffer, 0, all.length >> 2);
    let at = 0;
    while (at < words.length && at + words[at]! <= words.length) {
      yield words[at + 1] === TRACE_PIECE ? pieceAt(words, at) : sampleAt(words, at);
      at += words[at]!;
    }
    this.#rest = all.subarray(WORD_BYTES * at);
  }
}

function pieceAt(words: Uint32Array<ArrayBuffer>, at: number): SoftTracePiece {
  return {
    pid: words[at + 2]!,
    tid: words[at + 3]!,
    tsc: words[at + 4]! + words[at + 5]! * HIGH,
    bytes: new Uint8Array(words.buffer, WORD_BYTES * (at + PIECE_HEAD_WORDS), words[at + 6]!),
  };
}

function sampleAt(words: Uint32Array, at: number): SoftSample {
  const address = (word: number): number => words[at + word]! + words[at + word + 1]! * HIGH;
  const callers = Array.from({ length: words[at + 11]! }, (_, index) => address(HEAD_WORDS + 2 * index));
  return {
    event: words[at + 1]!,
    pid: words[at + 2]!,
    tid: words[at + 3]!,
    ip: address(4),
    target: address(6),
    timeNs: BigInt(words[at + 8]!) + (BigInt(words[at + 9]!) << 32n),
    cpu: words[at + 10]! | 0,
    callers,
  };
}
