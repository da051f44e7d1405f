import assert from 'node:assert/strict';
import {
  type BpfMapType,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { encodeAttr, makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import type { BpfMapDefinition, BpfProgram, BpfProgramType } from '../linux/kernel/bpf/index.ts';
import { type Fd, realSys } from '../linux/kernel/sys/index.ts';

/** Programs by their bytes, for tests of loading and attaching that trust no assembler. */

/** opcode, destination, source, offset, constant (linux/bpf.h, `struct bpf_insn`). */
export type Slot = readonly [opcode: number, dst: number, src: number, offset: number, constant: number];

export function encodeSlots(slots: readonly Slot[]): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(slots.length * 8));
  slots.forEach(([opcode, dst, src, offset, constant], index) => {
    view.setUint8(index * 8, opcode);
    view.setUint8(index * 8 + 1, dst | (src << 4));
    view.setInt16(index * 8 + 2, offset, true);
    view.setInt32(index * 8 + 4, constant, true);
  });
  return new Uint8Array(view.buffer);
}

export function makeMap(
  name: string,
  type: BpfMapType,
  fields: Partial<BpfMapDefinition> = {},
): BpfMapDefinition {
  return { name, type, keySizeBytes: 4, valueSizeBytes: 8, maxEntries: 1, ...fields };
}

/**
 * A 64-bit load is written as `[0x18, dst, 0, 0, 0], [0, 0, 0, 0, 0]`, with its map's
 * name in `references` by slot.
 */
export function makeProgram(
  name: string,
  type: BpfProgramType,
  slots: readonly Slot[],
  maps: readonly BpfMapDefinition[] = [],
  references: Readonly<Record<number, string>> = {},
): BpfProgram {
  return {
    name,
    type,
    license: 'GPL',
    instructions: encodeSlots(slots),
    maps,
    mapReferences: Object.entries(references).map(([instruction, map]) => ({
      instruction: Number(instruction),
      map,
      kind: 'descriptor',
      offsetBytes: 0,
    })),
    lines: slots.map((_, index) => ({ file: 'format.ts', line: index + 1, column: 3 })),
  };
}

const LOAD_MAP: readonly Slot[] = [
  [0x18, 1, 0, 0, 0],
  [0, 0, 0, 0, 0],
];
export const EXIT: Slot = [0x95, 0, 0, 0, 0];
export const returns = (value: number): Slot => [0xb7, 0, 0, 0, value];
const MAP_LOOKUP: Slot = [0x85, 0, 0, 0, 1];

/** Element 0 of the per-CPU array `counters` grows by one per run. */
export function countingProgram(type: BpfProgramType, result: number, name = 'count'): BpfProgram {
  const counters = makeMap('counters', 'per-cpu-array');
  const slots: Slot[] = [
    [0x7a, 10, 0, -8, 0], // *(u64 *)(r10 - 8) = 0
    [0xbf, 2, 10, 0, 0], // r2 = r10
    [0x07, 2, 0, 0, -8], // r2 += -8
    ...LOAD_MAP,
    MAP_LOOKUP,
    [0x15, 0, 0, 3, 0], // if r0 == 0 goto +3
    [0x79, 2, 0, 0, 0], // r2 = *(u64 *)(r0 + 0)
    [0x07, 2, 0, 0, 1], // r2 += 1
    [0x7b, 0, 2, 0, 0], // *(u64 *)(r0 + 0) = r2
    returns(result),
    EXIT,
  ];
  return makeProgram(name, type, slots, [counters], { 3: 'counters' });
}

/**
 * Writes records of `[time in ns, a number that counts up per CPU]` and counts refused
 * ones: elements 0 written, 1 lost.
 */
export function ringProgram(type: BpfProgramType, ringBytes: number): BpfProgram {
  const ring = makeMap('ring', 'ring-buffer', { keySizeBytes: 0, valueSizeBytes: 0, maxEntries: ringBytes });
  const counters = makeMap('counters', 'per-cpu-array', { maxEntries: 2 });
  const slots: Slot[] = [
    ...LOAD_MAP, // 0: the ring
    [0xb7, 2, 0, 0, 56], // r2 = 56
    [0xb7, 3, 0, 0, 0],
    [0x85, 0, 0, 0, 131], // ringbuf_reserve
    [0xb7, 7, 0, 0, 1], // r7 = 1: lost
    [0x15, 0, 0, 7, 0], // if r0 == 0 goto 14
    [0xbf, 6, 0, 0, 0],
    [0x85, 0, 0, 0, 5], // ktime_get_ns
    [0x7b, 6, 0, 0, 0], // *(u64 *)(r6 + 0) = r0
    [0xbf, 1, 6, 0, 0],
    [0xb7, 2, 0, 0, 0],
    [0x85, 0, 0, 0, 132], // ringbuf_submit
    [0xb7, 7, 0, 0, 0], // r7 = 0: written
    [0x63, 10, 7, -4, 0], // 14: *(u32 *)(r10 - 4) = r7
    [0xbf, 2, 10, 0, 0],
    [0x07, 2, 0, 0, -4],
    ...LOAD_MAP, // 17: the counters
    MAP_LOOKUP,
    [0x15, 0, 0, 3, 0],
    [0x79, 2, 0, 0, 0],
    [0x07, 2, 0, 0, 1],
    [0x7b, 0, 2, 0, 0],
    returns(0),
    EXIT,
  ];
  return makeProgram('ring', type, slots, [ring, counters], { 0: 'ring', 17: 'counters' });
}

/** cpu-clock with a fixed period and a record of the process for each overflow. */
export function clockEvent(periodNs: number, flags: Partial<PerfEventAttr['flags']> = {}): Uint8Array {
  return encodeAttr(
    makeAttr({
      type: PERF_TYPE_SOFTWARE,
      config: BigInt(PERF_COUNT_SW_CPU_CLOCK),
      samplePeriodOrFreq: BigInt(periodNs),
      sampleType: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID),
      wakeupEventsOrWatermark: 1,
      flags: { disabled: 1, ...flags },
    }),
  );
}

/**
 * What takes longer between two looks at the clock was taken away: by others, by
 * interrupts, by the host of this machine.
 */
const LONGEST_STEP_MS = 0.05;

/** How much longer it may take where nearly all is taken away. */
const MOST_TIMES = 100;

/** Run for so long, however busy the machine is. CPU time would do where nobody took it away unseen. */
export function spin(ms: number): void {
  let before = performance.now();
  const end = before + MOST_TIMES * ms;
  for (let doneMs = 0; doneMs < ms && before < end; ) {
    const now = performance.now();
    if (now - before < LONGEST_STEP_MS) doneMs += now - before;
    before = now;
  }
}

/** The count of an event without a read format. */
export function countOf(event: Fd): number {
  const value = new BigUint64Array(1);
  realSys.read(event, new Uint8Array(value.buffer));
  return Number(value[0]);
}

/** Why programs cannot be loaded here; false where they can. */
export function cannotLoad(): string | false {
  const instructions = encodeSlots([returns(0), EXIT]);
  try {
    const request = { name: 'probe', type: 7, license: 'GPL', instructions, attachType: 0 };
    realSys.bpfProgramLoad(request, null).close();
    return false;
  } catch (error) {
    return `no BPF programs here: ${(error as Error).message}`;
  }
}

/** The kernel frees after a grace period. */
export async function goes(isThere: () => boolean): Promise<void> {
  for (const until = performance.now() + 5000; isThere(); ) {
    assert.ok(performance.now() < until, 'it is still there');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
