import { PERF_RECORD_AUXTRACE } from '../abi/index.ts';
import { type AuxtraceRecord, BodyWriter, encodeRecord } from '../records/index.ts';
import { AuxSnapshots } from './aux-snapshots.ts';
import { ForwardRing } from './forward-ring.ts';
import type { RingMemory } from './ring-memory.ts';

/** Behind the record, the data is whole words (`PERF_AUXTRACE_RECORD_ALIGNMENT` of perf). */
const WORD_BYTES = 8;
const EMPTY = new Uint8Array(0);
interface Taken {
  first: Uint8Array<ArrayBuffer>;
  second: Uint8Array<ArrayBuffer>;
  /** In the whole trace. */
  offset: number;
}

const NO_SPANS: readonly Uint8Array<ArrayBuffer>[] = [];

/**
 * Which area it is: fields of its AUXTRACE records.
 *
 * @internal
 */
export interface AuxPlace {
  /** Number of the area among those of the recording. */
  index: number;
  /** -1: the area is a thread's. */
  cpu: number;
  /** -1: the area is a CPU's. */
  tid: number;
}

/**
 * Takes what was traced out of an AUX area, in the form in which it stands in a recording:
 *
 *   | AUXTRACE | data, views of the area, two where it wraps | 0 to 7 zeros |
 *
 * Nothing is copied: the spans are borrowed until `commit`.
 *
 * A source of whole entries leaves the end of the area free where no more entry fits; that is left out, so
 * that the entries stand one behind the other:
 *
 *   area   [ e3 e4 . . . . . e1 e2 rest ]     -> e1 e2 e3 e4
 *
 * @internal
 */
export class AuxDrain {
  /** What was taken; empty where nothing is new. */
  spans: readonly Uint8Array<ArrayBuffer>[] = NO_SPANS;
  /** Bytes of trace that were taken, in all. */
  traceBytes = 0;
  readonly #memory: RingMemory;
  readonly #place: AuxPlace;
  readonly #mostBytes: number;
  readonly #entryBytes: number;
  readonly #ring: ForwardRing | null;
  readonly #snapshots: AuxSnapshots | null;

  /**
   * `overwrites`: the area is written over, and is read while its source is disabled; then `mostBytes`
   * are taken at once, the newest. `entryBytes`: what the source writes is entries of this size.
   */
  constructor(
    memory: RingMemory,
    place: AuxPlace,
    overwrites: boolean,
    mostBytes = Number.POSITIVE_INFINITY,
    entryBytes = 1,
  ) {
    this.#mostBytes = mostBytes;
    this.#entryBytes = entryBytes;
    this.#memory = memory;
    this.#place = place;
    this.#ring = overwrites ? null : new ForwardRing(memory);
    this.#snapshots = overwrites ? new AuxSnapshots(memory) : null;
  }

  /** Where the source writes next, now. */
  head(): number {
    return this.#memory.head();
  }

  /** Bytes that could not be told from garbage because the kernel's position made no sense. */
  get skippedBytes(): number {
    return this.#ring?.skippedBytes ?? 0;
  }

  /**
   * Takes what is new. `reference`: the source's clock now (`AuxtraceRecord`). Returns the size of `spans` in
   * bytes, 0 where there is nothing.
   */
  take(reference: bigint): number {
    const taken =
      this.#ring === null ? newest(this.#snapshots!.take(), this.#mostBytes) : takeFrom(this.#ring);
    const { second, offset } = taken;
    this.traceBytes += taken.first.length + second.length;
    const first = taken.first.subarray(0, taken.first.length - (taken.first.length % this.#entryBytes));
    const dataBytes = first.length + second.length;
    if (dataBytes === 0) return 0;
    const padding = (WORD_BYTES - (dataBytes % WORD_BYTES)) % WORD_BYTES;
    const header = this.#header(dataBytes + padding, offset, reference);
    this.spans = [header, first, second, new Uint8Array(padding)].filter(({ length }) => length > 0);
    return header.length + dataBytes + padding;
  }

  /** Give the room back: the spans must not be read after this. */
  commit(): void {
    this.spans = NO_SPANS;
    this.#ring?.commit();
  }

  #header(sizeBytes: number, offset: number, reference: bigint): Uint8Array<ArrayBuffer> {
    const record: AuxtraceRecord = {
      type: PERF_RECORD_AUXTRACE,
      misc: 0,
      dataSize: BigInt(sizeBytes),
      auxOffset: BigInt(offset),
      reference,
      ...this.#place,
      reserved: 0,
      tail: EMPTY,
    };
    const writer = new BodyWriter();
    encodeRecord(writer, record, null);
    return writer.take();
  }
}

/** The end of what was taken. */
function newest(taken: Taken, mostBytes: number): Taken {
  const { first, second, offset } = taken;
  const left = Math.max(0, first.length + second.length - mostBytes);
  if (left === 0) return taken;
  const [ofFirst, ofSecond] = [Math.min(left, first.length), Math.max(0, left - first.length)];
  return { first: first.subarray(ofFirst), second: second.subarray(ofSecond), offset: offset + left };
}

function takeFrom(ring: ForwardRing): Taken {
  ring.take();
  return { first: ring.first, second: ring.second, offset: ring.tail };
}
