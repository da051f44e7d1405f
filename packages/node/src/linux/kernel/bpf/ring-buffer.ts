import { checkArgument } from '@counterpoint/core/base';
import type { Mapping, Sys, Watch } from '../sys/index.ts';
import { checkCallback, checkRingMap } from './checks.ts';
import type { BpfMap } from './maps.ts';
import { BpfRingReader } from './ring-reader.ts';

/**
 * A ring buffer that programs write and this process reads where it lies. The kernel counts no loss here: a
 * program whose reservation fails must count that itself, in a map of its own.
 */
export class BpfRingBuffer implements Disposable {
  /** Reads the records. */
  readonly reader: BpfRingReader;
  readonly #sys: Sys;
  readonly #map: BpfMap;
  readonly #consumer: Mapping;
  readonly #producer: Mapping;

  /** @internal */
  constructor(sys: Sys, map: BpfMap) {
    checkRingMap('openRingBuffer()', map);
    const pageBytes = sys.pageSizeBytes();
    const dataBytes = map.definition.maxEntries;
    this.#sys = sys;
    this.#map = map;
    this.#consumer = sys.mapRange(map.fd, 0, pageBytes, 'write');
    try {
      this.#producer = sys.mapRange(map.fd, pageBytes, pageBytes + 2 * dataBytes, 'read');
    } catch (error) {
      this.#consumer.close();
      throw error;
    }
    const consumer = new BigUint64Array(this.#consumer.buffer, 0, 1);
    const producer = new BigUint64Array(this.#producer.buffer, 0, 1);
    this.reader = new BpfRingReader({
      words: new Uint32Array(this.#producer.buffer, pageBytes, (2 * dataBytes) >>> 2),
      sizeBytes: dataBytes,
      consumed: () => Number(Atomics.load(consumer, 0)),
      produced: () => Number(Atomics.load(producer, 0)),
      consume: (position) => void Atomics.store(consumer, 0, BigInt(position)),
    });
  }

  /** Whether there are records; waits for them at most so long, without the event loop. */
  wait(timeoutMs: number): boolean {
    checkArgument(Number.isFinite(timeoutMs), 'wait()', 'the timeout', timeoutMs, 'a number of milliseconds');
    return this.#sys.waitReadable(this.#map.fd, timeoutMs);
  }

  /**
   * Call back from the event loop when a program wakes the reader. Drain all that is there: it wakes once.
   */
  watch(onReadable: () => void): Watch {
    checkCallback('watch()', 'onReadable', onReadable);
    return this.#sys.watch(this.#map.fd, onReadable);
  }

  /** The map's descriptor stays open; it belongs to the loaded set. */
  close(): void {
    this.#consumer.close();
    this.#producer.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
