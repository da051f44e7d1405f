import { PERF_AUX_FLAG_TRUNCATED } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { AuxDrain, mappedAux, requestAux } from '@counterpoint/core/ring';
import { type Fd, type Mapping, type Sys, SysError } from '../sys/index.ts';
import type { AuxRequest } from './aux-request.ts';
import { explainMmapError } from './open-error.ts';

/** An AUX area of a ring: where the trace of the ring's events goes. */
export class AuxArea implements Disposable {
  readonly overwrites: boolean;
  readonly #isSampled: boolean;
  /** @internal */
  readonly drain: AuxDrain;
  readonly sizeBytes: number;
  /** How often it was found full, without a record that says that something was cut. */
  fullWithoutWord = 0;
  readonly #mapping: Mapping;
  /** What was given back. */
  #tail = 0;
  /** Where pieces ended that records call cut, from the tail on. */
  #cuts: number[] = [];
  /** Where the area was full, and its records may not all be heard. */
  #fullAt: number | null = null;

  /** @internal */
  constructor(mapping: Mapping, drain: AuxDrain, { overwrites, isSampled }: AuxRequest) {
    this.#mapping = mapping;
    this.drain = drain;
    this.overwrites = overwrites;
    this.#isSampled = isSampled;
    this.sizeBytes = mapping.buffer.byteLength;
  }

  /** An AUX record of its ring says this. */
  heard(offset: number, sizeBytes: number, flags: number): void {
    if ((flags & PERF_AUX_FLAG_TRUNCATED) !== 0) this.#cuts.push(offset + sizeBytes);
  }

  /**
   * Take what is new. Of an area that is written over only with `isStopped`: its source stands still. Take it
   * before the ring: so the records of all that is taken are in the ring, too. Returns the size of
   * `drain.spans` in bytes.
   */
  take(reference: bigint, isStopped: boolean): number {
    if (this.#isSampled || (this.overwrites && !isStopped)) return 0;
    return this.drain.take(reference);
  }

  /**
   * Give the room back, after the records of the ring were heard. The kernel keeps one byte free. An area
   * that has no more room stops its source at the next piece, which no record tells:
   *
   *   old tail ──── taken ──── more, until now ──── one byte free          full: the head is as far as it can be
   *
   * The head is read once more after the tail was given: so either the kernel sees the room, or this sees
   * that it was full. Whether a piece was cut there, which a record does tell, is known when the next pass
   * has heard all records up to there.
   */
  commit(): void {
    this.#judge();
    const before = this.#tail;
    this.drain.commit();
    this.#tail = this.drain.traceBytes;
    this.#cuts = this.#cuts.filter((end) => end >= this.#tail);
    if (!this.overwrites && this.drain.head() - before >= this.sizeBytes - 1)
      this.#fullAt = before + this.sizeBytes - 1;
  }

  /** All records were heard. */
  finish(): void {
    this.#judge();
  }

  #judge(): void {
    if (this.#fullAt !== null && !this.#cuts.includes(this.#fullAt)) this.fullWithoutWord++;
    this.#fullAt = null;
  }

  [Symbol.dispose](): void {
    this.#mapping.close();
  }
}

/** Errnos of too little memory that may be locked, or too little at all. */
const TOO_LITTLE: ReadonlySet<string> = new Set(['EPERM', 'ENOMEM']);

/** The descriptor of an event, and the ring that it writes to. */
export interface AuxOwner {
  fd: Fd;
  /** -1: the ring is a thread's. */
  cpu: number;
  /** -1: the ring is a CPU's. */
  tid: number;
  ringMapping: Mapping;
}

/**
 * Map an area beside each ring, all of one size: where locked memory does not suffice, half of it, down to
 * the least. The area begins behind the ring: the kernel takes place and size from the event's page.
 */
export function openAuxAreas(sys: Sys, owners: readonly AuxOwner[], request: AuxRequest): AuxArea[] {
  const { overwrites, leastBytes, takenBytes, entryBytes = 1 } = request;
  for (let sizeBytes = request.sizeBytes; ; sizeBytes /= 2) {
    const areas: AuxArea[] = [];
    try {
      owners.forEach(({ fd, cpu, tid, ringMapping: { buffer } }, index) => {
        requestAux(buffer, buffer.byteLength, sizeBytes);
        // An area that may be written gives room back by its tail; one that may not is written over.
        const access = overwrites ? 'read' : 'write';
        const mapping = sys.mapRange(fd, buffer.byteLength, sizeBytes, access);
        const memory = mappedAux(buffer, new Uint8Array(mapping.buffer));
        const drain = new AuxDrain(memory, { index, cpu, tid }, overwrites, takenBytes, entryBytes);
        areas.push(new AuxArea(mapping, drain, request));
      });
      return areas;
    } catch (error) {
      for (const area of areas) area[Symbol.dispose]();
      if (!(error instanceof SysError)) throw error;
      if (!TOO_LITTLE.has(error.code) || sizeBytes / 2 < leastBytes) throw explainAuxError(error, sizeBytes);
    }
  }
}

function explainAuxError(error: SysError, sizeBytes: number): CounterpointError {
  return TOO_LITTLE.has(error.code)
    ? explainMmapError(error, 'traces', 'trace fewer CPUs with -C')
    : new CounterpointError(
        'ERR_AUX_AREA',
        `the kernel refuses an AUX area of ${sizeBytes} bytes (${error.code})`,
        'Give another size behind the comma of -m: a power of two.',
      );
}
