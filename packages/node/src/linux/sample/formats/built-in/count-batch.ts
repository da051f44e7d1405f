/**
 * Overflows that wait to be counted, a few of each CPU. When an address comes again, its row is in no
 * cache any more, and waiting for it was 200 of the 300 ns that a handler took. Of a batch the
 * processor fetches all rows at once.
 *
 *   overflow ─> [ pending ][ key, hash, period, time ] [ key, hash, ...     full ─> each row touched, then counted
 *
 * What is pending at the end is read as rows that were counted once.
 */
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  type Register,
  r0,
  r1,
  r2,
  r7,
  r8,
  r9,
  type StructFields,
  type StructSlot,
  u64,
  w0,
} from '../../../kernel/bpf/index.ts';
import type { Mapping } from '../../../kernel/sys/index.ts';
import type { FormatMaps, ProgramContext } from '../format.ts';
import { cpuCount, mappedArray } from '../mapped-array.ts';
import {
  addUnderKey,
  countingSlots,
  hashWords,
  lookUpRow,
  type TableShape,
  type TakenTable,
  wordsOf,
} from './count-table.ts';
import { findControl, findFirst, swapWhereDue } from './halves.ts';

/**
 * As many as a processor that runs ahead has in sight at once; more would only make single overflows longer.
 */
const MOST_ROWS = 16;
/** Of a table that is to be handed over with few rows, no large share comes in one piece. */
const BATCHES_A_TABLE = 4;

/** Beside the hash of a row: it waits. Above the bits that tables take. */
const PENDING = 1 << 30;

const Header = bpfStruct({
  pending: 'u64',
  /** We want them counted before there are many. */
  isCountingWanted: 'u64',
  unused: 48,
});

function rowsOf({ swapAt }: TableShape): number {
  return Math.max(1, Math.min(MOST_ROWS, Math.floor(swapAt / BATCHES_A_TABLE)));
}

/** As in the table, and the time. */
function rowBytesOf({ layout }: TableShape): number {
  return layout.sizeBytes + 8;
}

export function batchMap(shape: TableShape): BpfMapDefinition {
  return mappedArray('batch', Header.sizeBytes + rowsOf(shape) * rowBytesOf(shape), cpuCount());
}

/** As `countOverflow`, a few overflows later. */
export function countInBatch<const Fields extends StructFields>(
  asm: BpfAssembler,
  shape: TableShape,
  key: StructSlot<Fields>,
  { countLoss, notify }: ProgramContext,
): void {
  const words = wordsOf(shape, key);
  const rowBytes = rowBytesOf(shape);
  const most = rowsOf(shape);
  const hashAt = Header.sizeBytes + 8 * words.length;
  const periodAt = hashAt + 8;
  const timeAt = periodAt + 8;
  const cpu = asm.stack('cpu of the batch', 4);
  asm.call('get_smp_processor_id');
  asm.store(cpu, w0);
  asm.mapLookup(batchMap(shape), cpu);
  asm.ifNull(r0, () => asm.dropRecord());
  asm.move(r7, r0);
  const header = Header.at(r7);
  asm.load(r8, header.pending);
  // Never: but the verifier has to see it.
  asm.if(r8, '>=', most, () => asm.dropRecord());
  const rowTo = (to: Register, batch: Register, row: Register) => {
    asm.move(to, row);
    asm.multiply(to, rowBytes);
    asm.add(to, batch);
  };
  rowTo(r9, r7, r8);
  words.forEach((word, number) => {
    asm.load(r1, word);
    asm.store(u64(r9, Header.sizeBytes + 8 * number), r1);
  });
  hashWords(asm, words);
  asm.or(r1, PENDING);
  asm.store(u64(r9, hashAt), r1);
  asm.loadContext(r1, 'samplePeriod');
  asm.store(u64(r9, periodAt), r1);
  asm.call('ktime_get_ns');
  asm.store(u64(r9, timeAt), r0);
  asm.add(r8, 1);
  asm.store(header.pending, r8);
  asm.if(r8, '<', most, () => {
    asm.load(r1, header.isCountingWanted);
    asm.if(r1, '==', 0, () => asm.dropRecord());
  });

  asm.store(header.isCountingWanted, 0);
  const [batch, period, time] = [asm.stack('batch', 8), asm.stack('period', 8), asm.stack('time', 8)];
  asm.store(batch, r7);
  const slots = countingSlots(asm);
  const control = asm.stack('control', 8);
  findFirst(asm, shape, findControl(asm));
  asm.store(slots.base, r1);
  asm.store(control, r7);
  // With the row in r1. All of them, used or not: the verifier would follow each number of rows on its own.
  const forEachRow = (body: (next: () => void) => void) =>
    asm.repeat(r7, most, (loop) => {
      asm.load(r2, batch);
      rowTo(r1, r2, r7);
      body(() => loop.continue());
    });
  // Nothing waits for what is loaded here, so the next one begins before it has come.
  forEachRow(() => {
    asm.load(r1, u64(r1, hashAt));
    lookUpRow(asm, shape, slots);
    asm.ifNotNull(r0, () => asm.load(r1, u64(r0)));
  });
  forEachRow((next) => {
    asm.load(r2, u64(r1, hashAt));
    asm.if(r2, '==', 0, next);
    asm.store(slots.hash, r2);
    asm.store(u64(r1, hashAt), 0);
    words.forEach((word, number) => {
      asm.load(r2, u64(r1, Header.sizeBytes + 8 * number));
      asm.store(word, r2);
    });
    asm.load(r2, u64(r1, periodAt));
    asm.store(period, r2);
    asm.load(r2, u64(r1, timeAt));
    asm.store(time, r2);
    const loadPeriod = (to: Register) => asm.load(to, period);
    const loadTime = (to: Register) => asm.load(to, time);
    addUnderKey(asm, shape, words, slots, { loadPeriod, loadTime, done: next, control });
    countLoss('map-full');
  });
  // Not before: who looks meanwhile sees them in one place or in both.
  asm.load(r1, batch);
  asm.store(Header.at(r1).pending, 0);
  asm.load(r7, control);
  swapWhereDue(asm, shape, notify);
  asm.dropRecord();
}

/** Our side. */
export class BatchReader implements Disposable {
  readonly #shape: TableShape;
  readonly #map: BpfMap;
  readonly #mapping: Mapping;
  readonly #elementBytes: number;

  constructor(maps: FormatMaps, shape: TableShape) {
    this.#shape = shape;
    this.#map = maps.get('batch')!;
    this.#mapping = this.#map.mapValues('write');
    this.#elementBytes = this.#map.strideBytes;
  }

  /** What is pending, CPU by CPU, while no handler runs. It is forgotten when the next is asked for. */
  *take(): Generator<TakenTable> {
    const rowWords = rowBytesOf(this.#shape) / 4;
    for (let cpu = 0; cpu < cpuCount(); cpu++) {
      const count = this.pending(cpu);
      if (count === 0) continue;
      const at = cpu * this.#elementBytes + Header.sizeBytes;
      const words = new Uint32Array(this.#mapping.buffer, at, count * rowWords);
      this.#map.bytesRead += words.byteLength;
      for (let row = 0; row < count; row++) {
        // Where the samples will be is the hash.
        words[row * rowWords + 2 * this.#shape.keyWords] = 1;
        words[row * rowWords + 2 * this.#shape.keyWords + 1] = 0;
      }
      const places = Uint32Array.from({ length: count }, (_, place) => place);
      const quads = new BigUint64Array(this.#mapping.buffer, at, (count * rowWords) / 2);
      const timesNs = BigUint64Array.from(places, (place) => quads[((place + 1) * rowWords) / 2 - 1]!);
      yield { cpu, half: NO_HALF, count, places, timesNs, words, rowWords };
      for (let row = 0; row < count; row++) words[row * rowWords + 2 * this.#shape.keyWords] = 0;
      Atomics.store(this.#headerOf(cpu), 0, 0n);
    }
  }

  /** Have what is pending counted with the next overflow of its CPU. */
  requestCounting(): void {
    for (let cpu = 0; cpu < cpuCount(); cpu++) Atomics.store(this.#headerOf(cpu), 1, 1n);
  }

  pending(cpu: number): number {
    return Number(Atomics.load(this.#headerOf(cpu), 0));
  }

  [Symbol.dispose](): void {
    this.#mapping.close();
  }

  #headerOf(cpu: number): BigUint64Array {
    return new BigUint64Array(this.#mapping.buffer, cpu * this.#elementBytes, 2);
  }
}

/** Of rows that are in no half. */
const NO_HALF = -1;
