import { BPF_F_MMAPABLE } from '@counterpoint/core/abi';
import { parseDurationMs } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import {
  attachToEvent,
  BpfAssembler,
  type BpfMapDefinition,
  type BpfProgram,
  bpfStruct,
  indexKey,
  loadPrograms,
  ownPidNamespace,
  r0,
  r1,
  r2,
  r6,
  r7,
  r8,
  u64,
} from '../../../kernel/bpf/index.ts';
import { openPlannedEvent, planEvents } from '../../../kernel/perf-events/index.ts';
import { resolveEvents } from '../../record/index.ts';
import { badTrigger, type TriggerContext, type TriggerKind, type WaitingTrigger } from './trigger.ts';

const LOOK_MS = 10;
const NS_PER_MS = 1e6;
const MOST_PROCESSES = 4096;
/** Calls that are under way at a time; the oldest give way, such as those that an exception ended. */
const MOST_CALLS = 16_384;

/** A call by its thread and its frame, so that calls within calls are told apart. */
const Call = bpfStruct({ thread: 'u64', frame: 'u64' });
const CALLS: BpfMapDefinition = {
  name: 'calls',
  type: 'lru-hash',
  keySizeBytes: Call.sizeBytes,
  valueSizeBytes: 8,
  maxEntries: MOST_CALLS,
};
const PROCESSES: BpfMapDefinition = {
  name: 'processes',
  type: 'hash',
  keySizeBytes: 4,
  valueSizeBytes: 4,
  maxEntries: MOST_PROCESSES,
};
/** Slow calls so far, and how long the last one took. */
const Slow = bpfStruct({ count: 'u64', lastNs: 'u64' });
const SLOW: BpfMapDefinition = {
  name: 'slow',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: Slow.sizeBytes,
  maxEntries: 1,
  flags: BPF_F_MMAPABLE,
};

/**
 * The latency of a function, by a probe at its beginning and one at its return; a call is told of when it
 * returns. Programs in the kernel look at the clock, and only slow calls are known here.
 */
export const FUNCTION: TriggerKind = {
  name: 'function',
  form: 'function:FILE:NAME>TIME',
  help: 'a call of a function of a program or library has taken longer',
  example: 'function:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo>50ms',
  async parse(argument, text) {
    const [, place, time = ''] = /^(.+:[^>]+)>(.+)$/.exec(argument ?? '') ?? [];
    const latencyMs = parseDurationMs(time.trim());
    if (place === undefined || latencyMs === null || latencyMs <= 0)
      throw badTrigger(
        text,
        'it needs a file, a function and a time',
        'Give function:FILE:NAME>TIME with the unit of the time, and quote it for the shell: --on "function:./app:parse>50ms".',
      );
    const probes = await resolveEvents([`uprobe:${place.trim()}`, `uretprobe:${place.trim()}`]);
    return { text, start: (context) => start(context, probes, { text, latencyMs }) };
  },
};

function start(
  context: TriggerContext,
  probes: readonly ParsedEvent[],
  { text, latencyMs }: { text: string; latencyMs: number },
): WaitingTrigger {
  const { sys, scope, fire } = context;
  const ofAll = scope.kind === 'cpus';
  const programs = [beginProgram(ofAll), endProgram(BigInt(Math.round(latencyMs * NS_PER_MS)))];
  const set = loadPrograms(sys, programs, { maps: [CALLS, PROCESSES, SLOW] });
  const closing: { close(): void }[] = [set];
  const close = () => {
    for (const one of closing) one.close();
  };
  try {
    // Returns first: a call that has begun is not missed.
    for (const index of [1, 0]) {
      const [planned] = planEvents([probes[index]!], COUNTING);
      // The programs run for all processes; those that nobody watches are left at once.
      const event = openPlannedEvent(sys, { ...planned!, isDefined: true }, -1, 0, null);
      closing.unshift(event);
      closing.unshift(attachToEvent(sys, set.program(programs[index]!.name), event));
    }
    const mapping = set.map(SLOW.name).mapValues();
    closing.unshift(mapping);
    const processes = set.map(PROCESSES.name);
    const unwatch = context.watchProcesses((pid, isThere) => {
      if (isThere) processes.update(indexKey(pid), indexKey(1));
      else processes.delete(indexKey(pid));
    });
    const slow = new BigUint64Array(mapping.buffer, 0, 2);
    let known = 0n;
    let untold = 0;
    const look = () => {
      const count = Atomics.load(slow, 0);
      if (count === known) return;
      // One file is enough for all of them.
      untold += Number(count - known) - 1;
      known = count;
      fire(`${text}: ${(Number(slow[1]!) / NS_PER_MS).toFixed(1)} ms`);
    };
    const timer = setInterval(look, LOOK_MS);
    return {
      takeHeldBack() {
        const count = untold;
        untold = 0;
        return count;
      },
      [Symbol.dispose]: () => {
        clearInterval(timer);
        look();
        unwatch();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** An event that is there for its program. */
const COUNTING = {
  frequency: 1,
  period: 1n,
  isRateGiven: true,
  callchains: 'none',
  inherit: false,
  wholeCpus: true,
  enableOnExec: false,
  startsLater: false,
  levels: 'all',
} as const;

function newProgram(name: string): BpfAssembler {
  return new BpfAssembler({ name, type: 'kprobe', pidNamespace: ownPidNamespace() });
}

/** The stack pointer of the caller tells the frame: the return address is on the stack at the beginning. */
const CALLER_OFFSET = process.arch === 'x64' ? 8 : 0;

function beginProgram(ofAll: boolean): BpfProgram {
  const asm = newProgram('call_begin');
  asm.loadContext(r7, 'sp');
  asm.add(r7, CALLER_OFFSET);
  asm.loadProcessAndThread(r6);
  if (!ofAll) {
    const process = asm.stack('process', 4);
    asm.move(r1, r6);
    asm.shiftRight(r1, 32);
    asm.store(process, r1);
    asm.mapLookup(PROCESSES, process);
    asm.ifNull(r0, () => asm.keepRecord());
  }
  const key = asm.stack('call', Call);
  asm.store(key.fields.thread, r6);
  asm.store(key.fields.frame, r7);
  asm.call('ktime_get_ns');
  asm.mapUpdate(CALLS, key, r0);
  asm.keepRecord();
  return asm.assemble();
}

function endProgram(latencyNs: bigint): BpfProgram {
  const asm = newProgram('call_end');
  asm.loadContext(r7, 'sp');
  asm.loadProcessAndThread(r6);
  const key = asm.stack('call', Call);
  asm.store(key.fields.thread, r6);
  asm.store(key.fields.frame, r7);
  asm.mapLookup(CALLS, key);
  // It began before we did, or nobody watches it.
  asm.ifNull(r0, () => asm.keepRecord());
  asm.load(r8, u64(r0));
  asm.mapDelete(CALLS, key);
  asm.call('ktime_get_ns');
  asm.subtract(r0, r8);
  asm.move(r8, r0);
  asm.move(r2, latencyNs);
  asm.if(r8, '<', r2, () => asm.keepRecord());
  asm.loadMapValue(r1, SLOW);
  asm.store(u64(r1, 8), r8);
  asm.move(r2, 1);
  asm.atomicAdd(u64(r1), r2);
  asm.keepRecord();
  return asm.assemble();
}
