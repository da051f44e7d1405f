/**
 * One handler at a time on a CPU. The kernel sees to that for clocks, counters and tracepoints: it skips a
 * program that would interrupt another. A program on a probe it lets be interrupted, by the scheduler as by a
 * clock's handler, and what handlers write has one writer. So where a format handles a probe, each of its
 * handlers begins here, and one that comes in between leaves.
 */
import { type BpfMapDefinition, r0, r1, u64 } from '../../kernel/bpf/index.ts';
import type { FormatAssembler } from './format-assembler.ts';

const RUNNING: BpfMapDefinition = {
  name: 'running',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 1,
};

/** `onBusy` is written for a run that leaves at once. Loses r0 to r5. */
export function enterGuard(asm: FormatAssembler, verdict: number, onBusy: () => void): void {
  asm.mapLookup(RUNNING, 0);
  asm.ifNull(r0, () => asm.exitAtOnce(verdict));
  asm.move(r1, 1);
  asm.atomicExchange(u64(r0), r1);
  asm.if(r1, '!=', 0, () => {
    onBusy();
    asm.exitAtOnce(verdict);
  });
}

/** Loses r0 to r5. */
export function leaveGuard(asm: FormatAssembler): void {
  asm.mapLookup(RUNNING, 0);
  asm.ifNotNull(r0, () => asm.store(u64(r0), 0));
}
