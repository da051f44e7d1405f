/**
 * Counts under keys, in a hash table of each CPU that is mapped into this process: an overflow costs one line of memory, and reading
 * no system call. (A per-CPU hash of the kernel costs three lines and a call: 350 to 600 ns more, and skips overflows while it is read.)
 *
 *   records  [ free: samples 0 ][ key, samples, period ] ...     found by the key's hash, or within a few places after it
 *   order    [ place ][ place ] ...                              of the used ones, so that nobody looks through the free ones
 *
 * A table is one half of two (`halves.ts`): one that fills up is emptied while the other counts on.
 */
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  r0,
  r1,
  r2,
  r3,
  r8,
  r9,
  type StructFields,
  type StructLayout,
  type StructSlot,
  u32,
  u64,
} from '../../bpf/index.ts';
import type { Mapping } from '../../sys/index.ts';
import type { FormatMaps, ProgramContext } from '../format.ts';
import type { BucketCounts } from './buckets.ts';
import {
  array,
  countRecord,
  findHalf,
  HalvesReader,
  type HalvesShape,
  halvesMaps,
  recordMap,
} from './halves.ts';

const Counts = bpfStruct({ samples: 'u64', period: 'u64' });
/** Places that are looked at before a table counts as full. Half full, hardly any key needs as many. */
const PROBES = 32;
/** 2^64 divided by the golden ratio: neighbouring addresses are spread over the table. */
const MULTIPLIER = 0x9e3779b97f4a7c15n;
const SWAP_SHARE = 0.5;

export interface TableShape extends HalvesShape {
  /** Words of the key. */
  readonly keyWords: number;
}

/** For keys of whole words; room for so many on each CPU. */
export function tableShape(key: StructLayout<StructFields>, maxEntries: number): TableShape {
  const capacity = 2 ** Math.ceil(Math.log2(maxEntries));
  return {
    layout: bpfStruct({ key: key.sizeBytes, samples: 'u64', period: 'u64' }),
    keyWords: key.sizeBytes / 8,
    capacity,
    swapAt: Math.max(1, Math.floor(maxEntries * SWAP_SHARE)),
  };
}

export function tableMaps(shape: TableShape): BpfMapDefinition[] {
  return [...halvesMaps(shape), orderMap(shape)];
}

/** A 32-bit number for each record: two to an element, since the kernel pads elements to 8 bytes. */
function orderMap(shape: TableShape): BpfMapDefinition {
  return array('order', 8, Math.ceil(recordMap(shape).maxEntries / 2));
}

/** Add an overflow under a key, and end: the kernel's own record is left out. */
export function countOverflow<const Fields extends StructFields>(
  asm: BpfAssembler,
  shape: TableShape,
  key: StructSlot<Fields>,
  { countLoss, notify }: ProgramContext,
): void {
  const { keyWords, capacity } = shape;
  const words = Array.from({ length: keyWords }, (_, word) => u64(key.base, key.offsetBytes + 8 * word));
  const base = asm.stack('table', 8);
  const hash = asm.stack('hash', 8);
  const index = asm.stack('index', 4);
  findHalf(asm, shape, notify);
  asm.store(base, r1);
  asm.move(r1, 0);
  asm.move(r3, MULTIPLIER);
  for (const word of words) {
    asm.load(r2, word);
    asm.xor(r1, r2);
    asm.multiply(r1, r3);
  }
  // Its high bits depend on all bits of the key.
  asm.shiftRight(r1, 32);
  asm.store(hash, r1);
  asm.repeat(r9, PROBES, (loop) => {
    asm.load(r1, hash);
    asm.add(r1, r9);
    asm.and(r1, capacity - 1);
    asm.load(r2, base);
    asm.add(r1, r2);
    asm.store(index, { ...r1, bits: 32 });
    asm.mapLookup(recordMap(shape), index);
    asm.ifNull(r0, () => asm.dropRecord());
    const counts = Counts.at(r0, 8 * keyWords);
    asm.load(r1, counts.samples);
    asm.if(r1, '!=', 0, () => {
      words.forEach((word, number) => {
        asm.load(r2, word);
        asm.load(r3, u64(r0, 8 * number));
        asm.if(r2, '!=', r3, () => loop.continue());
      });
      asm.add(r1, 1);
      asm.store(counts.samples, r1);
      asm.loadContext(r2, 'samplePeriod');
      asm.load(r1, counts.period);
      asm.add(r1, r2);
      asm.store(counts.period, r1);
      asm.dropRecord();
    });
    words.forEach((word, number) => {
      asm.load(r2, word);
      asm.store(u64(r0, 8 * number), r2);
    });
    asm.loadContext(r2, 'samplePeriod');
    asm.store(counts.period, r2);
    asm.store(counts.samples, 1);
    // The place within the half; r8 are used so far.
    asm.load({ ...r9, bits: 32 }, index);
    asm.load(r1, base);
    asm.subtract(r9, r1);
    asm.add(r1, r8);
    asm.move(r2, r1);
    asm.and(r2, 1);
    asm.shiftLeft(r2, 2);
    asm.store(hash, r2);
    asm.shiftRight(r1, 1);
    asm.store(index, { ...r1, bits: 32 });
    asm.mapLookup(orderMap(shape), index);
    asm.ifNull(r0, () => asm.dropRecord());
    asm.load(r2, hash);
    asm.add(r0, r2);
    asm.store(u32(r0), { ...r9, bits: 32 });
    countRecord(asm);
    asm.dropRecord();
  });
  countLoss('map-full');
}

/** Our side. */
export class TableReader implements Disposable {
  readonly #halves: HalvesReader;
  readonly #shape: TableShape;
  readonly #order: BpfMap;
  readonly #places: Mapping;

  constructor(maps: FormatMaps, shape: TableShape) {
    this.#halves = new HalvesReader(maps, shape, 'write');
    this.#order = maps.get('order')!;
    try {
      this.#places = this.#order.mapValues();
    } catch (error) {
      this.#halves[Symbol.dispose]();
      throw error;
    }
    this.#shape = shape;
  }

  /**
   * What tables that were handed over have counted, table by table; with `isLast` all of them. `make` gets each key where it
   * lies.
   */
  *take<Result>(
    isLast: boolean,
    make: (view: DataView, key: number, counts: BucketCounts) => Result,
  ): Generator<Result[]> {
    const { layout, keyWords } = this.#shape;
    for (const { cpu, count, first, bytes } of this.#halves.take(isLast)) {
      const places = new Uint32Array(this.#places.buffer, 4 * first, count);
      this.#order.bytesRead += places.byteLength;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const taken: Result[] = [];
      for (let index = 0; index < count; index++) {
        const key = places[index]! * layout.sizeBytes;
        const at = key + 8 * keyWords;
        const samples = view.getBigUint64(at, true);
        const period = view.getBigUint64(at + 8, true);
        taken.push(make(view, key, { cpu, samples, period }));
        view.setBigUint64(at, 0n, true);
      }
      yield taken;
    }
  }

  /** Have all tables handed over at the next overflow of their CPU. */
  requestSwaps(): void {
    this.#halves.requestSwaps();
  }

  [Symbol.dispose](): void {
    this.#places.close();
    this.#halves[Symbol.dispose]();
  }
}
