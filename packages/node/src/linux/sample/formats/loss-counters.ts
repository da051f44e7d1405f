/**
 * What programs could not record, counted by themselves: a row of one cache line
 * for each program on each CPU.
 *
 *   [ program 0: CPU 0 ][ CPU 1 ] ... [ program 1: CPU 0 ][ CPU 1 ] ...     runs | map-full | ring-full | stack-collision | …
 *
 * In mapped memory: a system call that reads a map keeps handlers from running, and who
 * watches looks here all the time.
 */
import type { LossKind } from '@counterpoint/core/loss';
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  type MemoryOperand,
  r0,
  r1,
  r2,
  type StackSlot,
  w0,
} from '../../kernel/bpf/index.ts';
import type { Mapping } from '../../kernel/sys/index.ts';
import { cpuCount, mappedArray } from './mapped-array.ts';

/** By what a format loses; each is a kind of loss in the ledger. */
export const LOSS_REASONS = {
  'map-full': 'format-map-full',
  'ring-full': 'format-ring-full',
  'stack-collision': 'format-stack-collision',
  suspended: 'format-while-suspended',
  interrupting: 'format-recursion',
  'stack-lost': 'user-stack-not-unwound',
} as const satisfies Record<string, LossKind>;

/** Why something that should have been recorded was not. */
export type LossReason = keyof typeof LOSS_REASONS;

const REASONS = Object.keys(LOSS_REASONS) as readonly LossReason[];

const FIELDS = {
  runs: 'u64',
  'map-full': 'u64',
  'ring-full': 'u64',
  'stack-collision': 'u64',
  suspended: 'u64',
  interrupting: 'u64',
  'stack-lost': 'u64',
  unused: 8,
} as const;

const Row = bpfStruct(FIELDS);

/** Of one program on one CPU. */
export interface ProgramCounts {
  readonly program: number;
  readonly cpu: number;
  readonly runs: bigint;
  readonly losses: readonly (readonly [reason: LossReason, count: bigint])[];
}

export function lossMap(programs: number): BpfMapDefinition {
  return mappedArray('loss_counters', Row.sizeBytes, Math.max(1, programs) * cpuCount());
}

/**
 * For a run that has interrupted another (`run-guard.ts`): such a run may be
 * interrupted itself. Loses r0 to r5.
 */
export function countInterrupting(asm: BpfAssembler, map: BpfMapDefinition, program: number): void {
  const key = asm.stack('row of the interrupting', 4);
  asm.call('get_smp_processor_id');
  asm.add(r0, program * cpuCount());
  asm.store(key, w0);
  asm.mapLookup(map, key);
  asm.move(r1, 1);
  asm.ifNotNull(r0, () => asm.atomicAdd(Row.at(r0).interrupting, r1));
}

/** The counters of one program, while it is assembled. */
export class ProgramLossCounters {
  readonly #asm: BpfAssembler;
  readonly #row: StackSlot;

  /** Writes the beginning of the program: the run is counted. The context must be out of r1. */
  constructor(asm: BpfAssembler, map: BpfMapDefinition, program: number) {
    this.#asm = asm;
    this.#row = asm.stack('loss counters', 8);
    const key = asm.stack('row of the loss counters', 4);
    asm.call('get_smp_processor_id');
    asm.add(r0, program * cpuCount());
    asm.store(key, w0);
    asm.mapLookup(map, key);
    asm.ifNull(r0, () => asm.return(1));
    asm.store(this.#row, r0);
    this.#increment(Row.at(r0).runs);
  }

  count(reason: LossReason): void {
    this.#asm.load(r1, this.#row);
    this.#increment(Row.at(r1)[reason]);
  }

  /**
   * A program does not interrupt itself on a CPU (the kernel skips it), so this needs no atomic instruction.
   */
  #increment(counter: MemoryOperand): void {
    this.#asm.load(r2, counter);
    this.#asm.add(r2, 1);
    this.#asm.store(counter, r2);
  }
}

/** Our side of a loaded map: where the rows lie. */
export class LossCounters implements Disposable {
  readonly #mapping: Mapping;
  readonly #programs: number;
  readonly #cpus: readonly number[];

  constructor(map: BpfMap, programs: number, cpus: readonly number[]) {
    this.#mapping = map.mapValues();
    this.#programs = programs;
    this.#cpus = cpus;
  }

  /** Program by program and CPU by CPU; rows of nothing but zeros are left out. */
  read(): ProgramCounts[] {
    const bytes = new Uint8Array(this.#mapping.buffer);
    const rowsOfOne = cpuCount();
    const found: ProgramCounts[] = [];
    for (let program = 0; program < this.#programs; program++)
      for (const cpu of this.#cpus) {
        const row = Row.read(bytes, (program * rowsOfOne + cpu) * Row.sizeBytes);
        const losses = REASONS.flatMap((reason) =>
          row[reason] > 0n ? [[reason, row[reason]] as const] : [],
        );
        if (row.runs > 0n || losses.length > 0) found.push({ program, cpu, runs: row.runs, losses });
      }
    return found;
  }

  [Symbol.dispose](): void {
    this.#mapping.close();
  }
}
