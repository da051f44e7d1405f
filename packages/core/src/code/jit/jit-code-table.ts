import { DamageLog } from '../../base/index.ts';
import type { PerfMap } from './perf-map.ts';

/** A load, as far as it is kept. */
export interface LoadedCode {
  timeNs: number;
  start: number;
  sizeBytes: number;
  codeIndex: number;
  name: Uint8Array;
}

/** A move. */
export interface MovedCode {
  timeNs: number;
  start: number;
  codeIndex: number;
}

/** Where code was, since when and under which name, without its bytes. */
export interface JitCodeLines {
  /** A line for each load and move, in the order of their times. */
  map: PerfMap;
  /** By line: since when it was there, on the clock of the dump. */
  timeNs: Float64Array;
  /**
   * By line: where its `.eh_frame` begins and ends in `frames`. Both 0 where it
   * has none, or none were wanted.
   */
  frameStart: Uint32Array;
  /** See `frameStart`. */
  frameEnd: Uint32Array;
  /** The `.eh_frame` of all lines. */
  frames: Uint8Array<ArrayBuffer>;
}

const NEWLINE = 0x0a;
const SPACE = 0x20;
const FIRST_BYTES = 1 << 12;
const NO_LINE = -1;

/** Bytes one behind the other, in memory that grows. */
class Bytes {
  length = 0;
  #memory: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_BYTES);

  add(bytes: Uint8Array): void {
    const length = this.length + bytes.length;
    if (length > this.#memory.length) {
      const bigger = new Uint8Array(2 * length);
      bigger.set(this.all());
      this.#memory = bigger;
    }
    this.#memory.set(bytes, this.length);
    this.length = length;
  }

  all(): Uint8Array<ArrayBuffer> {
    return this.#memory.subarray(0, this.length);
  }
}

/** Collects what a jitdump says of code, as columns: a hostile one may have millions of records. */
export class JitCodeTable {
  readonly #timeNs: number[] = [];
  readonly #start: number[] = [];
  readonly #end: number[] = [];
  readonly #codeIndex: number[] = [];
  readonly #nameStart: number[] = [];
  readonly #nameEnd: number[] = [];
  readonly #frameStart: number[] = [];
  readonly #frameEnd: number[] = [];
  readonly #names = new Bytes();
  readonly #frames = new Bytes();
  readonly #mostNameBytes: number;
  /** Of all lines: code that moves has its name once more. */
  #nameBytes = 0;
  /** Lines by index of code. Made when the first code moves: nearly no runtime moves any. */
  #lineOfIndex: Map<number, number> | null = null;

  /** A dump has no more bytes of names than it has bytes; its moves could make more of them. */
  constructor(mostNameBytes: number) {
    this.#mostNameBytes = mostNameBytes;
  }

  get count(): number {
    return this.#start.length;
  }

  load({ timeNs, start, sizeBytes, codeIndex, name }: LoadedCode, frames: Uint8Array | null): void {
    const nameStart = this.#names.length;
    this.#nameBytes += name.length;
    this.#names.add(name.includes(NEWLINE) ? name.map((byte) => (byte === NEWLINE ? SPACE : byte)) : name);
    const frameStart = frames === null ? 0 : this.#frames.length;
    if (frames !== null) this.#frames.add(frames);
    this.#lineOfIndex?.set(codeIndex, this.count);
    this.#nameStart.push(nameStart);
    this.#nameEnd.push(this.#names.length);
    this.#frameStart.push(frameStart);
    this.#frameEnd.push(frames === null ? 0 : this.#frames.length);
    this.#place(timeNs, start, sizeBytes, codeIndex);
  }

  /** False where nothing was loaded under its index, or names are too many. */
  move({ timeNs, start, codeIndex }: MovedCode): boolean {
    this.#lineOfIndex ??= new Map(this.#codeIndex.map((index, line) => [index, line]));
    const line = this.#lineOfIndex.get(codeIndex) ?? NO_LINE;
    if (line === NO_LINE) return false;
    this.#nameBytes += this.#nameEnd[line]! - this.#nameStart[line]!;
    if (this.#nameBytes > this.#mostNameBytes) return false;
    for (const column of [this.#nameStart, this.#nameEnd, this.#frameStart, this.#frameEnd])
      column.push(column[line]!);
    this.#place(timeNs, start, this.#end[line]! - this.#start[line]!, codeIndex);
    return true;
  }

  #place(timeNs: number, start: number, sizeBytes: number, codeIndex: number): void {
    this.#timeNs.push(timeNs);
    this.#start.push(start);
    // Code of unknown size is found at its first byte.
    this.#end.push(start + Math.max(1, sizeBytes));
    this.#codeIndex.push(codeIndex);
  }

  finish(): JitCodeLines {
    const order = this.#order();
    const column = (values: readonly number[]) => Float64Array.from(order, (line) => values[line]!);
    return {
      map: {
        count: order.length,
        start: column(this.#start),
        end: column(this.#end),
        ...this.#namesOf(order),
        damage: new DamageLog(),
      },
      timeNs: column(this.#timeNs),
      frameStart: Uint32Array.from(order, (line) => this.#frameStart[line]!),
      frameEnd: Uint32Array.from(order, (line) => this.#frameEnd[line]!),
      frames: this.#frames.all(),
    };
  }

  /** Names one behind the other, as lines follow. */
  #namesOf(order: Uint32Array): Pick<PerfMap, 'names' | 'nameStart'> {
    const nameStart = new Uint32Array(order.length + 1);
    const names = new Bytes();
    for (const [at, line] of order.entries()) {
      names.add(this.#names.all().subarray(this.#nameStart[line]!, this.#nameEnd[line]!));
      nameStart[at + 1] = names.length;
    }
    return { names: names.all(), nameStart };
  }

  /** Lines by time; those of one time as they were written. */
  #order(): Uint32Array {
    const lines = Uint32Array.from(this.#timeNs, (_, line) => line);
    const times = this.#timeNs;
    const isSorted = times.every((time, line) => line === 0 || times[line - 1]! <= time);
    return isSorted ? lines : lines.sort((a, b) => times[a]! - times[b]! || a - b);
  }
}
