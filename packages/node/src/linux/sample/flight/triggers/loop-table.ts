import { BPF_F_MMAPABLE } from '@counterpoint/core/abi';
import {
  type BpfAssembler,
  type BpfMapDefinition,
  r0,
  r1,
  r2,
  r3,
  r6,
  u32,
  u64,
} from '../../../kernel/bpf/index.ts';
import type { Mapping } from '../../../kernel/sys/index.ts';

/** Neighbouring process numbers are in neighbouring sets; so many whose low bits are alike find room. */
const SETS = 1024;
const WAYS = 4;
/** `u32 pid, u32 nothing, u64 since`. */
const ENTRY_BYTES = 16;
const SET_BYTES = WAYS * ENTRY_BYTES;
/** No thread has this number. */
const FREE = 0xffffffff;

/**
 * All loops in one value of an array, whose address stands in the program: no look-up, so that a wait costs
 * little. A process is in the set that the low bits of its number say.
 */
export const LOOP_TABLE: BpfMapDefinition = {
  name: 'loops',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: SETS * SET_BYTES,
  maxEntries: 1,
  flags: BPF_F_MMAPABLE,
};

/**
 * At the return of a wait of a main thread that is in the table: since when it has been busy. At the
 * beginning of one: that it is not (0).
 */
export function writeLoopProgram(asm: BpfAssembler, isReturn: boolean, end: () => void): void {
  asm.loadThreadId(r6);
  asm.move(r2, r6);
  asm.and(r2, SETS - 1);
  asm.multiply(r2, SET_BYTES);
  asm.loadMapValue(r1, LOOP_TABLE);
  asm.add(r1, r2);
  for (let way = 0; way < WAYS; way++) {
    asm.load({ ...r3, bits: 32 }, u32(r1, way * ENTRY_BYTES));
    asm.if(r3, '==', r6, () => {
      asm.move(r6, r1);
      if (isReturn) asm.call('ktime_get_ns');
      else asm.move(r0, 0);
      asm.store(u64(r6, way * ENTRY_BYTES + 8), r0);
      end();
    });
  }
  // Nobody whom we watch.
  end();
}

/** The same memory, from this side. */
export class LoopTable {
  readonly #pids: Uint32Array<ArrayBuffer>;
  readonly #since: BigUint64Array<ArrayBuffer>;

  constructor({ buffer }: Pick<Mapping, 'buffer'>) {
    this.#pids = new Uint32Array(buffer, 0, (SETS * SET_BYTES) / 4);
    this.#since = new BigUint64Array(buffer, 0, (SETS * SET_BYTES) / 8);
    for (let entry = 0; entry < SETS * WAYS; entry++) this.#pids[entry * (ENTRY_BYTES / 4)] = FREE;
  }

  /** The place of a process from now on, or null where its set is full. */
  add(pid: number): number | null {
    const place = this.#find(pid, FREE);
    if (place === null) return null;
    // In this order: the program writes only where it finds its number.
    this.#since[place * 2 + 1] = 0n;
    this.#pids[place * 4] = pid;
    return place;
  }

  remove(place: number): void {
    this.#pids[place * 4] = FREE;
  }

  /**
   * Nanoseconds of the monotonic clock: since when the loop has been busy; 0 if it is not known, or it waits.
   */
  since(place: number): bigint {
    return Atomics.load(this.#since, place * 2 + 1);
  }

  #find(pid: number, holder: number): number | null {
    const first = (pid & (SETS - 1)) * WAYS;
    for (let place = first; place < first + WAYS; place++) if (this.#pids[place * 4] === holder) return place;
    return null;
  }
}
