/**
 * What programs could not record, counted by themselves: a row for each program in a per-CPU array.
 *
 *   key    program, by number
 *   value  runs | period | map-full | ring-full | stack-collision      64 bits each, for each CPU
 */
import type { LossKind } from '@counterpoint/core/loss';
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  indexKey,
  type MemoryOperand,
  r0,
  r1,
  r2,
  type StackSlot,
} from '../bpf/index.ts';

/** By what a format loses; each is a kind of loss in the ledger. */
export const LOSS_REASONS = {
  'map-full': 'format-map-full',
  'ring-full': 'format-ring-full',
  'stack-collision': 'format-stack-collision',
} as const satisfies Record<string, LossKind>;

export type LossReason = keyof typeof LOSS_REASONS;

const FIELDS = {
  runs: 'u64',
  /** Of all overflows that a handler ran for: what is missing to the event's own count was missed. */
  period: 'u64',
  'map-full': 'u64',
  'ring-full': 'u64',
  'stack-collision': 'u64',
} as const;

const Row = bpfStruct(FIELDS);

/** Of one program on one CPU. */
export interface ProgramCounts {
  readonly program: number;
  readonly cpu: number;
  readonly runs: bigint;
  readonly period: bigint;
  readonly losses: readonly (readonly [reason: LossReason, count: bigint])[];
}

export function lossMap(programs: number): BpfMapDefinition {
  return {
    name: 'loss_counters',
    type: 'per-cpu-array',
    keySizeBytes: 4,
    valueSizeBytes: Row.sizeBytes,
    maxEntries: Math.max(1, programs),
  };
}

/** The counters of one program, while it is assembled. */
export class ProgramLossCounters {
  readonly #asm: BpfAssembler;
  readonly #row: StackSlot;

  /** Writes the beginning of the program: the run is counted. The context must be out of r1. */
  constructor(asm: BpfAssembler, map: BpfMapDefinition, program: number, hasPeriod: boolean) {
    this.#asm = asm;
    this.#row = asm.stack('loss counters', 8);
    asm.mapLookup(map, program);
    asm.ifNull(r0, () => asm.return(1));
    asm.store(this.#row, r0);
    this.#increment(Row.at(r0).runs);
    if (!hasPeriod) return;
    asm.loadContext(r2, 'samplePeriod');
    asm.atomicAdd(Row.at(r0).period, r2);
  }

  count(reason: LossReason): void {
    this.#asm.load(r1, this.#row);
    this.#increment(Row.at(r1)[reason]);
  }

  #increment(counter: MemoryOperand): void {
    this.#asm.move(r2, 1);
    this.#asm.atomicAdd(counter, r2);
  }
}

/** What the counters say, program by program and CPU by CPU; rows of nothing but zeros are left out. */
export function readLossCounters(map: BpfMap, programs: number, cpus: readonly number[]): ProgramCounts[] {
  const found: ProgramCounts[] = [];
  for (let program = 0; program < programs; program++) {
    const value = map.lookup(indexKey(program));
    if (value === null) continue;
    cpus.forEach((cpu, index) => {
      const { runs, period, ...losses } = Row.read(value, index * map.strideBytes);
      const counted = (Object.entries(losses) as [LossReason, bigint][]).filter(([, count]) => count > 0n);
      if (runs > 0n || counted.length > 0) found.push({ program, cpu, runs, period, losses: counted });
    });
  }
  return found;
}
