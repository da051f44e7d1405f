/**
 * Our side of the tables that handlers count in (`count-table.ts`), with what waits to
 * be counted (`count-batch.ts`).
 */
import type { BpfMap } from '../../../kernel/bpf/index.ts';
import type { Mapping } from '../../../kernel/sys/index.ts';
import type { FormatMaps } from '../format.ts';
import { BatchReader } from './count-batch.ts';
import type { TableShape, TakenTable } from './count-table.ts';
import { HalvesReader } from './halves.ts';

export class TableReader implements Disposable {
  readonly #halves: HalvesReader;
  readonly #shape: TableShape;
  readonly #order: BpfMap;
  readonly #places: Mapping;
  readonly #timeMap: BpfMap;
  readonly #times: Mapping;
  readonly #batch: BatchReader | null;

  constructor(maps: FormatMaps, shape: TableShape) {
    this.#halves = new HalvesReader(maps, shape, 'write');
    this.#order = maps.get('order')!;
    this.#timeMap = maps.get('times')!;
    this.#shape = shape;
    let places: Mapping | null = null;
    let times: Mapping | null = null;
    try {
      places = this.#order.mapValues();
      times = this.#timeMap.mapValues();
      this.#batch = maps.has('batch') ? new BatchReader(maps, shape) : null;
    } catch (error) {
      places?.close();
      times?.close();
      this.#halves[Symbol.dispose]();
      throw error;
    }
    this.#places = places;
    this.#times = times;
  }

  /**
   * Tables that were handed over; with `isStill`, while no handler runs, all of them and what waits to be
   * counted. Each is emptied and given back when the next is asked for.
   */
  *take(isStill: boolean): Generator<TakenTable> {
    const { layout, keyWords, capacity } = this.#shape;
    const rowWords = layout.sizeBytes / 4;
    for (const { cpu, half, count, bytes } of this.#halves.take(isStill)) {
      const places = new Uint32Array(this.#places.buffer, 4 * half * capacity, count);
      this.#order.bytesRead += places.byteLength;
      const timesNs = new BigUint64Array(this.#times.buffer, 8 * half * capacity, count);
      this.#timeMap.bytesRead += timesNs.byteLength;
      const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
      yield { cpu, half, count, places, timesNs, words, rowWords };
      // A place whose samples are 0 is free.
      const samples = 2 * keyWords;
      for (let index = 0; index < count; index++) {
        const at = places[index]! * rowWords + samples;
        words[at] = 0;
        words[at + 1] = 0;
      }
    }
    if (isStill && this.#batch !== null) yield* this.#batch.take();
  }

  /** Have all tables handed over at the next overflow of their CPU. */
  requestSwaps(): void {
    const batch = this.#batch;
    this.#halves.requestSwaps(batch === null ? undefined : (cpu) => batch.pending(cpu) > 0);
    // After it: a handler that counts asks whether it is to swap, and the next may be many overflows away.
    batch?.requestCounting();
  }

  [Symbol.dispose](): void {
    this.#batch?.[Symbol.dispose]();
    this.#places.close();
    this.#times.close();
    this.#halves[Symbol.dispose]();
  }
}
