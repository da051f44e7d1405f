/**
 * From when to when a recording counts, both sides of it. Programs on tracepoints run longer than that: from
 * the moment in which they are attached, before a delay is over, and until the kernel has taken them off,
 * which it does a tenth of a second late.
 *
 *   attached ── begin: beginNs = now ── end: hasEnded = 1, and then endNs is read ── taken off
 */
import { BPF_F_MMAPABLE } from '@counterpoint/core/abi';
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  type Register,
  r1,
} from '../../kernel/bpf/index.ts';
import type { Mapping } from '../../kernel/sys/index.ts';

const Words = bpfStruct({ beginNs: 'u64', hasEnded: 'u64' });
/** Later than any time. */
const NOT_YET = 2n ** 63n - 1n;

const RECORDED_TIME: BpfMapDefinition = {
  name: 'recorded_time',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: Words.sizeBytes,
  maxEntries: 1,
  flags: BPF_F_MMAPABLE,
};

/** Later than any time where the recording has not begun. */
export function loadBeginNs(asm: BpfAssembler, destination: Register): void {
  asm.loadMapValue(destination, RECORDED_TIME);
  asm.load(destination, Words.at(destination).beginNs);
}

/** End the program, leaving everything as it is, where the recording is over. Loses r1. */
export function exitAfterEnd(asm: BpfAssembler): void {
  asm.loadMapValue(r1, RECORDED_TIME);
  asm.load(r1, Words.at(r1).hasEnded);
  asm.if(r1, '!=', 0, () => asm.return(1));
}

/** By the clock of `nowNs`. */
export interface RecordedTime {
  /** When the recording was enabled, on CLOCK_MONOTONIC. */
  readonly beginNs: bigint;
  /** When it stopped, or now. */
  readonly endNs: bigint;
}

/** Our side, with or without programs that look at it. */
export class RecordedTimeKeeper implements Disposable {
  readonly #nowNs: () => bigint;
  readonly #mapping: Mapping | null;
  readonly #words: BigUint64Array;
  #beginNs: bigint | null = null;
  #endNs: bigint | null = null;

  /** Before any program is attached. */
  constructor(maps: ReadonlyMap<string, BpfMap>, nowNs: () => bigint) {
    this.#nowNs = nowNs;
    this.#mapping = maps.get(RECORDED_TIME.name)?.mapValues('write') ?? null;
    const { buffer } = this.#mapping ?? new Uint8Array(Words.sizeBytes);
    this.#words = new BigUint64Array(buffer, 0, Words.sizeBytes / 8);
    Atomics.store(this.#words, 0, NOT_YET);
  }

  /** The first time counts. */
  begin(): void {
    if (this.#beginNs !== null || this.#endNs !== null) return;
    this.#beginNs = this.#nowNs();
    Atomics.store(this.#words, 0, this.#beginNs);
  }

  /**
   * The first time counts. A program that has read the clock and then found no end
   * has read less than `endNs`.
   */
  end(): void {
    if (this.#endNs !== null) return;
    Atomics.store(this.#words, 1, 1n);
    this.#endNs = this.#nowNs();
  }

  /** Until now, while it goes on; null where it has not begun. */
  get(): RecordedTime | null {
    if (this.#beginNs === null) return null;
    return { beginNs: this.#beginNs, endNs: this.#endNs ?? this.#nowNs() };
  }

  [Symbol.dispose](): void {
    this.#mapping?.close();
  }
}
