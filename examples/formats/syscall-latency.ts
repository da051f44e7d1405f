/**
 * How long system calls take: a histogram of the time between two tracepoints, kept in the kernel.
 *
 *   counterpoint record --format ./examples/formats/syscall-latency.ts -- ls -R /usr
 *   counterpoint record --format ./examples/formats/syscall-latency.ts,number=0 -p 1234 -- sleep 10
 *
 *   raw_syscalls:sys_enter   started[thread] = now
 *   raw_syscalls:sys_exit    buckets[log2(now - started[thread])] += 1
 */
import { type BpfMapDefinition, defineFormat, r0, r1, r2, r7, r8, u64 } from 'counterpoint/formats';

/**
 * When each thread went into its system call, nanoseconds. By the kernel's number, which also
 * threads of other containers have.
 */
const started: BpfMapDefinition = {
  name: 'started',
  type: 'hash',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 1 << 16,
};

/** Element n: calls that took from 2^n to 2^(n+1) nanoseconds. */
const buckets: BpfMapDefinition = {
  name: 'buckets',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 64,
};

export default defineFormat({
  name: 'syscall-latency',
  version: 1,
  summary: 'a histogram of the time that system calls take',
  options: {
    number: { type: 'count', default: -1, min: -1, max: 1000, help: 'of this number only; -1: all of them' },
  },
  // It watches by its own programs, and has a picture instead of samples.
  ownEvents: [],
  plan: ({ number }) => ({
    programs: [
      {
        name: 'enter',
        attach: { kind: 'tracepoint', system: 'raw_syscalls', name: 'sys_enter' },
        assemble(asm, { onlyTarget, countLoss }) {
          onlyTarget();
          if (number >= 0) {
            asm.loadContext(r1, 'id');
            asm.if(r1, '!=', number, () => asm.keepRecord());
          }
          asm.call('ktime_get_ns');
          asm.move(r7, r0);
          asm.loadKernelThreadId(r8);
          asm.mapUpdate(started, r8, r7);
          asm.if(r0, '!=', 0, () => countLoss('map-full'));
        },
      },
      {
        name: 'exit',
        attach: { kind: 'tracepoint', system: 'raw_syscalls', name: 'sys_exit' },
        assemble(asm) {
          asm.loadKernelThreadId(r8);
          asm.mapLookup(started, r8);
          // It began before we did, or is not ours.
          asm.ifNull(r0, () => asm.keepRecord());
          asm.load(r7, u64(r0, 0));
          asm.mapDelete(started, r8);
          asm.call('ktime_get_ns');
          asm.subtract(r0, r7);
          asm.move(r1, r0);
          asm.log2(r2, r1);
          asm.countInMap(buckets, r2);
        },
      },
    ],
  }),
  async *collect(maps, { next }) {
    while ((await next()) !== 'stopped');
    const found = maps.get('buckets')!;
    yield Array.from({ length: 64 }, (_, bucket) => found.counter(bucket));
  },
  *describe(counts) {
    const most = Math.max(...counts);
    for (const [bucket, count] of counts.entries())
      if (count > 0)
        yield `${formatNs(2 ** bucket).padStart(8)} ${String(count).padStart(9)} ${'#'.repeat(Math.ceil((40 * count) / most))}`;
  },
});

function formatNs(ns: number): string {
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(1)} us`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(1)} ms`;
  return `${(ns / 1e9).toFixed(1)} s`;
}
