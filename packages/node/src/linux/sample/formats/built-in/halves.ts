/**
 * Two halves of records for each CPU, in arrays that the kernel and we have mapped: the handler fills one
 * while we drain the other. No system call reads them, so no overflow is skipped meanwhile.
 *
 *   handler   [ fills  ][ waits ]  ── threshold ──>  [ waits ][ fills  ]    swaps only when the other half was given back
 *   we        [        ][ drain, give back ]         [ drain, give back ][        ]
 *
 * Each word has one writer at a time, and a handler never interrupts a handler on its CPU (the kernel skips
 * it), so a half that was handed over is not written any more.
 */
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  type MemoryOperand,
  type Register,
  r0,
  r1,
  r2,
  r3,
  r7,
  r8,
  r9,
  type StructFields,
  type StructLayout,
  u64,
  w0,
} from '../../../kernel/bpf/index.ts';
import type { Mapping } from '../../../kernel/sys/index.ts';
import type { FormatMaps, ProgramContext } from '../format.ts';
import { cpuCount, mappedArray } from '../mapped-array.ts';

/** Of one CPU, and two cache lines, so that no CPU waits for another's. */
const CONTROL = {
  /** The half that is filled, 0 or 1, and how many records are in it. */
  active: 'u64',
  used: 'u64',
  /** Records of a half that waits to be drained; 0 gives it back. */
  waiting0: 'u64',
  waiting1: 'u64',
  /**
   * The halves are to be swapped before the threshold: we want it, or something beside the records is full.
   */
  isSwapWanted: 'u64',
  swaps: 'u64',
  /** Since when both halves have been full; 0: they are not. */
  blindSinceNs: 'u64',
  blindNs: 'u64',
  missed: 'u64',
  unused: 56,
} as const;
const Control = bpfStruct(CONTROL);
const CONTROL_WORDS = Control.sizeBytes / 8;

/** Of all CPUs. */
export const halfCount = () => 2 * cpuCount();

export interface HalvesShape {
  readonly layout: StructLayout<StructFields>;
  /** Records of a half. */
  readonly capacity: number;
  /** The halves are swapped when one has this many. */
  readonly swapAt: number;
}

function controlMap(): BpfMapDefinition {
  return mappedArray('halves', Control.sizeBytes, cpuCount());
}

export function recordMap({ layout, capacity }: HalvesShape): BpfMapDefinition {
  return mappedArray('records', layout.sizeBytes, halfCount() * capacity);
}

export function halvesMaps(shape: HalvesShape): BpfMapDefinition[] {
  return [controlMap(), recordMap(shape)];
}

/**
 * The half of this CPU, swapped where it is time: r7 is the CPU's control, r8 how many records are
 * in the half, r1 the index of its first one; the number of the half among all is in the memory that
 * it gives back. Loses r0 to r5.
 */
export function findHalf(asm: BpfAssembler, shape: HalvesShape, notify: () => void): MemoryOperand {
  const cpu = findControl(asm);
  swapWhereDue(asm, shape, notify);
  return findFirst(asm, shape, cpu);
}

/**
 * r7 is the control of this CPU, r8 how many records are in its half. Gives the CPU's
 * number in memory. Loses r0 to r5.
 */
export function findControl(asm: BpfAssembler): MemoryOperand {
  const cpu = asm.stack('cpu', 4);
  asm.call('get_smp_processor_id');
  asm.store(cpu, w0);
  asm.mapLookup(controlMap(), cpu);
  asm.ifNull(r0, () => asm.dropRecord());
  asm.move(r7, r0);
  asm.load(r8, Control.at(r7).used);
  return cpu;
}

/** With r7 and r8 of `findControl`; r8 is 0 where the halves were swapped. Loses r0 to r5. */
export function swapWhereDue(asm: BpfAssembler, shape: HalvesShape, notify: () => void): void {
  const now = asm.stack('now', 8);
  const control = Control.at(r7);
  asm.move(r2, shape.swapAt);
  asm.load(r1, control.isSwapWanted);
  asm.if(r1, '!=', 0, () => {
    asm.store(control.isSwapWanted, 0);
    asm.move(r2, 1);
  });
  asm.if(r8, '>=', r2, () => swap(asm, now, notify));
}

/**
 * The index of the first record of the half into r1, the number of the half into the
 * memory that it gives. Loses r2.
 */
export function findFirst(asm: BpfAssembler, shape: HalvesShape, cpu: MemoryOperand): MemoryOperand {
  const half = asm.stack('half', 4);
  // (cpu * 2 + active) * capacity
  asm.load({ ...r1, bits: 32 }, cpu);
  asm.shiftLeft(r1, 1);
  asm.load(r2, Control.at(r7).active);
  asm.add(r1, r2);
  asm.store(half, { ...r1, bits: 32 });
  asm.multiply(r1, shape.capacity);
  return half;
}

/** Have the halves of this CPU swapped at its next overflow. r7 is its control. */
export function wantSwap(asm: BpfAssembler): void {
  asm.store(Control.at(r7).isSwapWanted, 1);
}

/** One more record is in the half. Loses no register but r8. */
export function countRecord(asm: BpfAssembler, control: Register = r7): void {
  asm.add(r8, 1);
  asm.store(Control.at(control).used, r8);
}

/**
 * Fill the next record, whose address is in r9, and end. Loses all registers but r6; what `fill`
 * needs of calls it makes itself.
 */
export function writeRecord(
  asm: BpfAssembler,
  shape: HalvesShape,
  { countLoss, notify }: ProgramContext,
  fill: () => void,
): void {
  const index = asm.stack('index', 4);
  findHalf(asm, shape, notify);
  const control = Control.at(r7);
  asm.if(r8, '>=', shape.capacity, () => {
    increment(asm, control.missed);
    countLoss('ring-full');
    asm.load(r1, control.blindSinceNs);
    asm.if(r1, '==', 0, () => {
      asm.call('ktime_get_ns');
      asm.store(control.blindSinceNs, r0);
    });
    asm.dropRecord();
  });
  asm.add(r1, r8);
  asm.store(index, { ...r1, bits: 32 });
  asm.mapLookup(recordMap(shape), index);
  asm.ifNull(r0, () => asm.dropRecord());
  asm.move(r9, r0);
  fill();
  countRecord(asm);
  asm.dropRecord();
}

/** Hand the half over and begin the other one, if that was given back; r8 is 0 then. */
function swap(asm: BpfAssembler, now: MemoryOperand, notify: () => void): void {
  const control = Control.at(r7);
  asm.load(r1, control.active);
  asm.and(r1, 1);
  // r2: the half that waits from now on; r3: the other one.
  for (const [address, isOther] of [
    [r2, false],
    [r3, true],
  ] as const) {
    asm.move(address, r1);
    if (isOther) asm.xor(address, 1);
    asm.shiftLeft(address, 3);
    asm.add(address, r7);
  }
  const waiting = (address: typeof r2) => u64(address, control.waiting0.offsetBytes);
  asm.load(r0, waiting(r3));
  asm.if(r0, '==', 0, () => {
    asm.xor(r1, 1);
    asm.store(control.active, r1);
    asm.store(control.used, 0);
    // An exchange is a barrier on every machine: who sees this count sees the records, too.
    asm.atomicExchange(waiting(r2), r8);
    asm.move(r8, 0);
    increment(asm, control.swaps);
    asm.load(r1, control.blindSinceNs);
    asm.if(r1, '!=', 0, () => {
      asm.call('ktime_get_ns');
      asm.store(now, r0);
      asm.load(r1, control.blindSinceNs);
      asm.subtract(r0, r1);
      asm.load(r1, control.blindNs);
      asm.add(r0, r1);
      asm.store(control.blindNs, r0);
      asm.store(control.blindSinceNs, 0);
    });
    notify();
  });
}

/** A word of this CPU. */
function increment(asm: BpfAssembler, counter: MemoryOperand): void {
  asm.load(r1, counter);
  asm.add(r1, 1);
  asm.store(counter, r1);
}

/** Records of one CPU, where they lie. *Borrowed*: until they are given back. */
export interface RecordSpan {
  readonly cpu: number;
  /** Its number among all halves. */
  readonly half: number;
  readonly count: number;
  /** Record n at `n * layout.sizeBytes`; the whole half, whatever is in it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What both halves of all CPUs came to. */
export interface HalvesTotals {
  swaps: number;
  /** With both halves full, over all CPUs. */
  blindNs: number;
  missed: number;
}

/** Our side. */
export class HalvesReader implements Disposable {
  readonly #shape: HalvesShape;
  readonly #control: Mapping;
  readonly #records: Mapping;
  readonly #map: BpfMap;
  readonly #words: BigUint64Array;

  constructor(maps: FormatMaps, shape: HalvesShape, access: 'read' | 'write' = 'read') {
    this.#shape = shape;
    this.#control = maps.get('halves')!.mapValues('write');
    this.#map = maps.get('records')!;
    try {
      this.#records = this.#map.mapValues(access);
    } catch (error) {
      this.#control.close();
      throw error;
    }
    this.#words = new BigUint64Array(this.#control.buffer, 0, cpuCount() * CONTROL_WORDS);
  }

  /**
   * Halves that wait; each is given back when the next is asked for. With `isStill`, while no handler runs,
   * those that are being filled, too.
   */
  *take(isStill: boolean): Generator<RecordSpan> {
    for (let cpu = 0; cpu < this.#words.length / CONTROL_WORDS; cpu++) {
      for (const half of [0, 1]) {
        const waiting = this.#at(cpu, 'waiting0') + half;
        const count = Number(Atomics.load(this.#words, waiting));
        if (count === 0) continue;
        yield this.#span(cpu, half, count);
        Atomics.store(this.#words, waiting, 0n);
      }
      const used = isStill ? this.#word(cpu, 'used') : 0;
      if (used === 0) continue;
      yield this.#span(cpu, this.#word(cpu, 'active'), used);
      Atomics.store(this.#words, this.#at(cpu, 'used'), 0n);
    }
  }

  /**
   * Have the halves swapped at the next overflow of their CPU, however little is in them;
   * `hasMore`: something is about to be.
   */
  requestSwaps(hasMore: (cpu: number) => boolean = () => false): void {
    for (let cpu = 0; cpu < this.#words.length / CONTROL_WORDS; cpu++)
      if (this.#word(cpu, 'used') > 0 || hasMore(cpu))
        Atomics.store(this.#words, this.#at(cpu, 'isSwapWanted'), 1n);
  }

  totals(nowNs: bigint): HalvesTotals {
    const totals = { swaps: 0, blindNs: 0, missed: 0 };
    for (let cpu = 0; cpu < this.#words.length / CONTROL_WORDS; cpu++) {
      totals.swaps += this.#word(cpu, 'swaps');
      totals.missed += this.#word(cpu, 'missed');
      const since = this.#word(cpu, 'blindSinceNs');
      totals.blindNs += this.#word(cpu, 'blindNs') + (since === 0 ? 0 : Number(nowNs) - since);
    }
    return totals;
  }

  [Symbol.dispose](): void {
    this.#control.close();
    this.#records.close();
  }

  #span(cpu: number, half: number, count: number): RecordSpan {
    const { layout, capacity } = this.#shape;
    const number = cpu * 2 + half;
    const sizeBytes = capacity * layout.sizeBytes;
    this.#map.bytesRead += count * layout.sizeBytes;
    const bytes = new Uint8Array(this.#records.buffer, number * sizeBytes, sizeBytes);
    return { cpu, half: number, count, bytes };
  }

  #at(cpu: number, name: keyof typeof CONTROL): number {
    return cpu * CONTROL_WORDS + Control.fields[name].offsetBytes / 8;
  }

  #word(cpu: number, name: keyof typeof CONTROL): number {
    return Number(Atomics.load(this.#words, this.#at(cpu, name)));
  }
}
