/** Handlers as a format's author writes them: the examples of the room's README, which tests load and run. */
import { BPF_F_USER_STACK } from '@counterpoint/core/abi';
import {
  BpfAssembler,
  type BpfMapDefinition,
  type BpfProgram,
  bpfStruct,
  type ContextField,
  r0,
  r1,
  r6,
  r7,
  u64,
} from '../linux/kernel/bpf/index.ts';

// A histogram of the time between two tracepoints, by thread. Nothing is dropped: others
// may record these tracepoints.

export const starts: BpfMapDefinition = {
  name: 'starts',
  type: 'lru-hash',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 10240,
};
/** Runs by the power of two of their nanoseconds. */
export const latencies: BpfMapDefinition = {
  name: 'latencies',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 64,
};

export function latencyBegin(processId: number): BpfProgram {
  const asm = new BpfAssembler({ name: 'latency_begin', type: 'tracepoint' });
  const thread = asm.stack('thread', 4);
  asm.onlyProcess(processId);
  asm.loadThreadId(r1);
  asm.store(thread, r1);
  asm.call('ktime_get_ns');
  asm.mapUpdate(starts, thread, r0);
  asm.keepRecord();
  return asm.assemble();
}

export function latencyEnd(processId: number): BpfProgram {
  const asm = new BpfAssembler({ name: 'latency_end', type: 'tracepoint' });
  const thread = asm.stack('thread', 4);
  asm.onlyProcess(processId);
  asm.loadThreadId(r1);
  asm.store(thread, r1);
  asm.mapLookup(starts, thread);
  // It began before we did.
  asm.ifNull(r0, () => asm.keepRecord());
  asm.load(r6, u64(r0));
  asm.call('ktime_get_ns');
  asm.subtract(r0, r6);
  asm.log2(r7, r0);
  asm.countInMap(latencies, r7);
  asm.mapDelete(starts, thread);
  asm.keepRecord();
  return asm.assemble();
}

// Stacks counted in the kernel.

export const StackKey = bpfStruct({ process: 'u32', isUser: 'u32', userStack: 'i32', kernelStack: 'i32' });
export const stackTraces: BpfMapDefinition = {
  name: 'stack_traces',
  type: 'stack-trace',
  keySizeBytes: 4,
  valueSizeBytes: 127 * 8,
  maxEntries: 4096,
};
export const stackCounts: BpfMapDefinition = {
  name: 'stack_counts',
  type: 'per-cpu-hash',
  keySizeBytes: StackKey.sizeBytes,
  valueSizeBytes: 8,
  maxEntries: 4096,
};
/** 0: samples that found no room. */
export const losses: BpfMapDefinition = {
  name: 'losses',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 1,
};

export function countStacks(): BpfProgram {
  const asm = new BpfAssembler({ name: 'count_stacks', type: 'perf-event' });
  const key = asm.stack('key', StackKey);
  asm.saveContext(r6);
  asm.loadIsUserMode(r1);
  asm.store(key.fields.isUser, r1);
  asm.loadProcessId(r1);
  asm.store(key.fields.process, r1);
  // Below 0 where there is none, or where another stack has its place.
  asm.call('get_stackid', asm.context, stackTraces, BPF_F_USER_STACK);
  asm.store(key.fields.userStack, r0);
  asm.call('get_stackid', asm.context, stackTraces, 0);
  asm.store(key.fields.kernelStack, r0);
  asm.countInMap(stackCounts, key, 1, () => asm.countInMap(losses, 0));
  asm.dropRecord();
  return asm.assemble();
}

// A record of our own at each overflow.

export const Miss = bpfStruct({
  timeNs: 'u64',
  ip: 'u64',
  address: 'u64',
  thread: 'u32',
  cpu: 'u32',
  comm: 16,
});
export const misses: BpfMapDefinition = {
  name: 'misses',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: 1 << 18,
};

export function recordMiss(): BpfProgram {
  const asm = new BpfAssembler({ name: 'record_miss', type: 'perf-event' });
  asm.saveContext(r6);
  const fill = (miss: ReturnType<typeof Miss.at>) => {
    asm.loadContext(r1, 'ip');
    asm.store(miss.ip, r1);
    asm.loadContext(r1, 'address');
    asm.store(miss.address, r1);
    asm.call('ktime_get_ns');
    asm.store(miss.timeNs, r0);
    asm.loadThreadId(r1);
    asm.store(miss.thread, r1);
    asm.call('get_smp_processor_id');
    asm.store(miss.cpu, r0);
    asm.call('get_current_comm', miss.comm, 16);
  };
  asm.record(misses, Miss, r7, fill, () => asm.countInMap(losses, 0));
  asm.dropRecord();
  return asm.assemble();
}

// perf's own records, of those events only whose field is large.

export function keepAbove(
  processId: number,
  fields: readonly ContextField[],
  field: string,
  threshold: number,
): BpfProgram {
  const asm = new BpfAssembler({ name: 'keep_above', type: 'tracepoint', fields });
  asm.saveContext(r6);
  asm.onlyProcess(processId);
  asm.loadContext(r1, field);
  asm.if(
    r1,
    's>',
    threshold,
    () => asm.keepRecord(),
    () => asm.dropRecord(),
  );
  return asm.assemble();
}
