/**
 * How long timer interrupts take, in which clocks overflow: what a handler and perf's own record cost there,
 * both measured from outside, by two programs on raw tracepoints.
 *
 *   local_timer_entry ── hrtimer ── overflow ── handler, or the kernel's record ── local_timer_exit
 *        └ now ─> start                                                              └ now − start ─> one more in its bucket
 */
import {
  attachToRawTracepoint,
  BpfAssembler,
  type BpfMapDefinition,
  loadPrograms,
  r0,
  r1,
  r6,
  u64,
} from '../packages/node/src/linux/kernel/bpf/index.ts';
import { realSys } from '../packages/node/src/linux/kernel/sys/index.ts';

/** Buckets of 32 ns; the last one is for all that is longer. */
const BUCKET_SHIFT = 5;
const BUCKETS = 1024;
/** Beyond it stands what the host took away in the middle, and interrupts that found other work. */
const SHARE = 0.9;

const counters = (name: string, maxEntries: number): BpfMapDefinition => ({
  name,
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries,
});
const STARTS = counters('timer_starts', 1);
const TIMES = counters('timer_times', BUCKETS);

export class TimerWatch implements Disposable {
  readonly #set = loadPrograms(realSys, [entry(), exit()]);
  readonly #attached = [
    attachToRawTracepoint(realSys, this.#set.program('timer_exit'), 'local_timer_exit'),
    attachToRawTracepoint(realSys, this.#set.program('timer_entry'), 'local_timer_entry'),
  ];

  /** Interrupts so far by their time, of all CPUs. */
  read(): number[] {
    const map = this.#set.map(TIMES.name);
    return Array.from({ length: BUCKETS }, (_, bucket) => map.counter(bucket));
  }

  [Symbol.dispose](): void {
    for (const one of this.#attached) one.close();
    this.#set.close();
  }
}

/** The mean of the quickest nine tenths between two readings. */
export function meanNs(before: readonly number[], after: readonly number[]): number {
  const counts = after.map((count, bucket) => count - before[bucket]!);
  const wanted = counts.reduce((sum, count) => sum + count, 0) * SHARE;
  let seen = 0;
  let sumNs = 0;
  for (const [bucket, count] of counts.entries()) {
    const taken = Math.min(count, wanted - seen);
    seen += taken;
    sumNs += taken * (bucket + 0.5) * 2 ** BUCKET_SHIFT;
  }
  return sumNs / seen;
}

function entry() {
  const asm = new BpfAssembler({ name: 'timer_entry', type: 'raw-tracepoint' });
  asm.mapLookup(STARTS, 0);
  asm.ifNull(r0, () => asm.return(0));
  asm.move(r6, r0);
  asm.call('ktime_get_ns');
  asm.store(u64(r6), r0);
  asm.return(0);
  return asm.assemble();
}

function exit() {
  const asm = new BpfAssembler({ name: 'timer_exit', type: 'raw-tracepoint' });
  asm.mapLookup(STARTS, 0);
  asm.ifNull(r0, () => asm.return(0));
  asm.move(r6, r0);
  asm.call('ktime_get_ns');
  asm.load(r1, u64(r6));
  // The first interrupt may have begun before there was a program.
  asm.if(r1, '==', 0, () => asm.return(0));
  asm.subtract(r0, r1);
  asm.shiftRight(r0, BUCKET_SHIFT);
  asm.if(r0, '>=', BUCKETS, () => asm.move(r0, BUCKETS - 1));
  asm.countInMap(TIMES, r0);
  asm.return(0);
  return asm.assemble();
}
