/**
 * Counts under keys, in a hash table of each CPU that is mapped into this process: an overflow costs one line
 * of memory, and reading no system call. (A per-CPU hash of the kernel costs three lines and a call: 350 to
 * 600 ns more, and skips overflows while it is read.)
 *
 *   records  [ free: samples 0 ][ key, samples, period ] ...     found by the key's hash, or within a few places after it
 *   order    [ place ][ place ] ...                              of the used ones, so that nobody looks through the free ones
 *   times    [ time ][ time ] ...                                in the same order, of their first overflow
 *
 * A table is one half of two (`halves.ts`): one that fills up is emptied while the other counts on.
 */
import {
  type BpfAssembler,
  type BpfMapDefinition,
  bpfStruct,
  type MemoryOperand,
  type Register,
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
} from '../../../kernel/bpf/index.ts';
import type { ProgramContext, SampleRows } from '../format.ts';
import { mappedArray } from '../mapped-array.ts';
import { countRecord, findHalf, type HalvesShape, halvesMaps, recordMap } from './halves.ts';
import { MULTIPLIER } from './mix-word.ts';

const Counts = bpfStruct({ samples: 'u64', period: 'u64' });
/** Places that are looked at before a table counts as full. Half full, hardly any key needs as many. */
const PROBES = 32;
const SWAP_SHARE = 0.5;

export interface TableShape extends HalvesShape {
  /** Words of the key. */
  readonly keyWords: number;
}

/** For keys of whole words; `maxEntries` keys on each CPU. */
export function tableShape(key: StructLayout<StructFields>, maxEntries: number): TableShape {
  const capacity = 2 ** Math.ceil(Math.log2(maxEntries));
  return {
    layout: bpfStruct({ key: key.sizeBytes, samples: 'u64', period: 'u64' }),
    keyWords: key.sizeBytes / 8,
    capacity,
    swapAt: Math.max(1, Math.floor(maxEntries * SWAP_SHARE)),
  };
}

/** What a key says of its overflows. It knows no threads: samples have the process's first. */
interface OverflowFields extends StructFields {
  readonly address: 'u64';
  readonly pid: 'u32';
  readonly event: 'u32';
}

/** The words of 32 bits, with which these fields of a row begin. */
export function placesIn({ fields }: StructLayout<OverflowFields>): Omit<SampleRows['at'], 'period'> {
  const pid = fields.pid.offsetBytes / 4;
  return { ip: fields.address.offsetBytes / 4, pid, tid: pid, event: fields.event.offsetBytes / 4 };
}

/** The words of 32 bits with which the counts of a row begin. */
export function countsAt(key: StructLayout<StructFields>): {
  readonly samples: number;
  readonly period: number;
} {
  const { samples, period } = Counts.fields;
  return {
    samples: (key.sizeBytes + samples.offsetBytes) / 4,
    period: (key.sizeBytes + period.offsetBytes) / 4,
  };
}

export function tableMaps(shape: TableShape): BpfMapDefinition[] {
  return [...halvesMaps(shape), orderMap(shape), timeMap(shape)];
}

/** A 32-bit number for each record: two to an element, since the kernel pads elements to 8 bytes. */
function orderMap(shape: TableShape): BpfMapDefinition {
  return mappedArray('order', 8, Math.ceil(recordMap(shape).maxEntries / 2));
}

/**
 * When each row was counted first, in their order: a process that executes another program has other code
 * from then on. Not in the row, which would be longer than a share of a cache line.
 */
function timeMap(shape: TableShape): BpfMapDefinition {
  return mappedArray('times', 8, recordMap(shape).maxEntries);
}

/** What a row has beside its key and its period. The handler's parts lose r0 to r5 and r9. */
export interface RowExtension {
  /** Write what of the key depends on the half that counts, whose number is in memory. */
  complete(half: MemoryOperand): void;
  /**
   * For a new row: what stands in it in place of the number of samples, into r1. Not 0: such a row is free.
   */
  mark(): void;
  /** For a row that was there: its mark is in r1. */
  again(): void;
}

/** Add an overflow under a key, and end: the kernel's own record is left out. */
export function countOverflow<const Fields extends StructFields>(
  asm: BpfAssembler,
  shape: TableShape,
  key: StructSlot<Fields>,
  { countLoss, notify }: ProgramContext,
  extension?: RowExtension,
): void {
  const words = wordsOf(shape, key);
  const slots = countingSlots(asm);
  const half = findHalf(asm, shape, notify);
  asm.store(slots.base, r1);
  extension?.complete(half);
  hashWords(asm, words);
  asm.store(slots.hash, r1);
  addUnderKey(asm, shape, words, slots, {
    loadPeriod: (to) => asm.loadContext(to, 'samplePeriod'),
    loadTime: (to) => {
      asm.call('ktime_get_ns');
      asm.move(to, r0);
    },
    done: () => asm.dropRecord(),
    extension,
  });
  countLoss('map-full');
}

/** The words of a key on the stack. */
export function wordsOf({ keyWords }: TableShape, key: StructSlot<StructFields>): MemoryOperand[] {
  return Array.from({ length: keyWords }, (_, word) => u64(key.base, key.offsetBytes + 8 * word));
}

/** What `addUnderKey` is given and needs. */
export interface CountingSlots {
  /** The index of the first row of the table. */
  readonly base: MemoryOperand;
  readonly hash: MemoryOperand;
  readonly index: MemoryOperand;
}

export function countingSlots(asm: BpfAssembler): CountingSlots {
  return { base: asm.stack('table', 8), hash: asm.stack('hash', 8), index: asm.stack('index', 4) };
}

/** 32 bits that depend on all bits of a key into r1. Loses r2 and r3. */
export function hashWords(asm: BpfAssembler, words: readonly MemoryOperand[]): void {
  asm.move(r1, 0);
  asm.move(r3, MULTIPLIER);
  for (const word of words) {
    asm.load(r2, word);
    asm.xor(r1, r2);
    asm.multiply(r1, r3);
  }
  asm.shiftRight(r1, 32);
}

/**
 * The row at a hash (r1), or some places after it (a register), into r0; null where
 * there is none. Loses r1 to r5.
 */
export function lookUpRow(
  asm: BpfAssembler,
  shape: TableShape,
  { base, index }: CountingSlots,
  places?: Register,
): void {
  if (places !== undefined) asm.add(r1, places);
  asm.and(r1, shape.capacity - 1);
  asm.load(r2, base);
  asm.add(r1, r2);
  asm.store(index, { ...r1, bits: 32 });
  asm.mapLookup(recordMap(shape), index);
}

interface Counting {
  loadPeriod(to: Register): void;
  /** When it was, nanoseconds; loses r1 to r5. */
  loadTime(to: Register): void;
  /** What is done once it is counted. Where no place is free for it, it goes on behind. */
  done(): void;
  /** Where the CPU's control is kept; else it is in r7. */
  readonly control?: MemoryOperand;
  readonly extension?: RowExtension | undefined;
}

/** Add to the row of a key, or make one; r8 rows are there. Loses all registers but r6 and r7. */
export function addUnderKey(
  asm: BpfAssembler,
  shape: TableShape,
  words: readonly MemoryOperand[],
  slots: CountingSlots,
  { loadPeriod, loadTime, done, control, extension }: Counting,
): void {
  const { base, hash, index } = slots;
  const countsAtRow = (row: Register) => Counts.at(row, 8 * words.length);
  asm.repeat(r9, PROBES, (loop) => {
    asm.load(r1, hash);
    lookUpRow(asm, shape, slots, r9);
    asm.ifNull(r0, () => asm.dropRecord());
    const counts = countsAtRow(r0);
    asm.load(r1, counts.samples);
    asm.if(r1, '!=', 0, () => {
      words.forEach((word, number) => {
        asm.load(r2, word);
        asm.load(r3, u64(r0, 8 * number));
        asm.if(r2, '!=', r3, () => loop.continue());
      });
      if (extension === undefined) {
        asm.add(r1, 1);
        asm.store(counts.samples, r1);
      }
      loadPeriod(r2);
      asm.load(r3, counts.period);
      asm.add(r3, r2);
      asm.store(counts.period, r3);
      extension?.again();
      done();
    });
    words.forEach((word, number) => {
      asm.load(r2, word);
      asm.store(u64(r0, 8 * number), r2);
    });
    loadPeriod(r2);
    asm.store(counts.period, r2);
    if (extension === undefined) asm.store(counts.samples, 1);
    else {
      const row = asm.stack('row', 8);
      asm.store(row, r0);
      extension.mark();
      asm.load(r2, row);
      asm.store(countsAtRow(r2).samples, r1);
    }
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
    loadTime(r9);
    asm.load(r1, base);
    asm.add(r1, r8);
    asm.store(index, { ...r1, bits: 32 });
    asm.mapLookup(timeMap(shape), index);
    asm.ifNull(r0, () => asm.dropRecord());
    asm.store(u64(r0), r9);
    if (control === undefined) countRecord(asm);
    else {
      asm.load(r1, control);
      countRecord(asm, r1);
    }
    done();
  });
}

/** One table, where it lies. *Borrowed*: until it is given back. */
export interface TakenTable {
  readonly cpu: number;
  /** Its number among all halves; -1 for rows that waited to be counted. */
  readonly half: number;
  /** Rows: a key, then how many samples, then their periods, in words of 32 bits. */
  readonly words: Uint32Array;
  readonly rowWords: number;
  readonly count: number;
  /** Which rows are used, and when each was counted first. */
  readonly places: Uint32Array;
  readonly timesNs: BigUint64Array;
}
