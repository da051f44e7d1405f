import { BPF_F_MMAPABLE } from '@counterpoint/core/abi';
import { parseDurationMs } from '@counterpoint/core/base';
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  indexKey,
  r0,
  r1,
  r6,
  u32,
  u64,
} from '../../bpf/index.ts';
import { hookCalls } from './system-call-hooks.ts';
import { badTrigger, type Trigger, type TriggerContext, type TriggerKind } from './trigger.ts';

const MOST_LOOPS = 4096;
const LONGEST_MS = 3_600_000;
/** The memory is looked at so often while a loop could be late, but not more than each 5 ms. */
const LOOKS_PER_DELAY = 4;
const SHORTEST_LOOK_MS = 5;
const NS_PER_MS = 1e6;
const EPOLL_WAITS = ['epoll_wait', 'epoll_pwait', 'epoll_pwait2'];

/** Thread to place in `busy`. */
const LOOPS: BpfMapDefinition = {
  name: 'loops',
  type: 'hash',
  keySizeBytes: 4,
  valueSizeBytes: 4,
  maxEntries: MOST_LOOPS,
};
/** By place: since when the loop has been busy, in nanoseconds; 0 while it waits. */
const BUSY: BpfMapDefinition = {
  name: 'busy_since',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: MOST_LOOPS,
  flags: BPF_F_MMAPABLE,
};

/**
 * The time from the return of an event loop's wait to its next one. Two programs of a few instructions at the
 * kernel's own functions note when the main thread of a watched process came back from its wait. Memory that
 * is mapped here tells whether it is late: nothing runs in the target, and nothing waits for it to come back.
 *
 *   epoll_wait ── returns ──> busy = now ......... runs JavaScript ......... epoll_wait ──> busy = 0
 *                                        └── looked at: now - busy > 500 ms: a file
 */
export const LOOP_DELAY: TriggerKind = {
  name: 'loop-delay',
  form: 'loop-delay:TIME',
  help: 'the event loop of a watched process (its main thread) has not come back for so long',
  example: 'loop-delay:500ms',
  parse(argument, text): Trigger {
    const delayMs = argument === null ? null : parseDurationMs(argument);
    if (delayMs === null || delayMs < 1 || delayMs > LONGEST_MS)
      throw badTrigger(text, 'it needs a time', 'Give one from 1ms to 1h, such as loop-delay:500ms.');
    return { text, start: (context) => start(context, text, delayMs) };
  },
};

async function start(context: TriggerContext, text: string, delayMs: number): Promise<Disposable> {
  const { sys, scope, fire } = context;
  if (scope.kind === 'cpus')
    throw badTrigger(text, 'it needs processes, but CPUs are watched', 'Watch a process (-p) or a command.');
  const maps = [LOOPS, BUSY];
  const hooks = await hookCalls(sys, EPOLL_WAITS, { maps, program: waitProgram });
  const mapping = hooks.map(BUSY.name).mapValues('write');
  const busy = new BigUint64Array(mapping.buffer, 0, MOST_LOOPS);
  const loops = new Loops(hooks.map(LOOPS.name), busy);
  const unwatch = context.watchProcesses((pid, isThere) => (isThere ? loops.add(pid) : loops.remove(pid)));
  const lookMs = Math.max(SHORTEST_LOOK_MS, delayMs / LOOKS_PER_DELAY);
  const timer = setInterval(() => {
    const nowNs = process.hrtime.bigint();
    for (const { pid, lateMs } of loops.late(nowNs, delayMs)) fire(`${text}: process ${pid}, ${lateMs} ms`);
  }, lookMs);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      unwatch();
      mapping.close();
      hooks.close();
    },
  };
}

/** Which places of the memory are whose. */
class Loops {
  readonly #places = new Map<number, number>();
  readonly #free: number[] = [];
  #used = 0;
  readonly #map: BpfMap;
  readonly #busy: BigUint64Array<ArrayBuffer>;
  /** What was told of: once for each time that a loop is late. */
  readonly #told = new Map<number, bigint>();

  constructor(map: BpfMap, busy: BigUint64Array<ArrayBuffer>) {
    this.#map = map;
    this.#busy = busy;
  }

  add(pid: number): void {
    if (this.#places.has(pid)) return;
    if (this.#free.length === 0 && this.#used >= MOST_LOOPS) return;
    const place = this.#free.pop() ?? this.#used++;
    this.#busy[place] = 0n;
    this.#places.set(pid, place);
    this.#map.update(indexKey(pid), indexKey(place));
  }

  remove(pid: number): void {
    const place = this.#places.get(pid);
    if (place === undefined) return;
    this.#map.delete(indexKey(pid));
    this.#places.delete(pid);
    this.#told.delete(pid);
    this.#free.push(place);
  }

  *late(nowNs: bigint, delayMs: number): Generator<{ pid: number; lateMs: number }> {
    for (const [pid, place] of this.#places) {
      const since = Atomics.load(this.#busy, place);
      const lateMs = Number(nowNs - since) / NS_PER_MS;
      if (since === 0n || lateMs < delayMs || this.#told.get(pid) === since) continue;
      this.#told.set(pid, since);
      yield { pid, lateMs: Math.round(lateMs) };
    }
  }
}

/** At the end of a wait the loop begins to be busy. */
function waitProgram(asm: BpfAssembler, isReturn: boolean, end: () => void): void {
  const key = asm.stack('key', 4);
  asm.loadThreadId(r1);
  asm.store(key, r1);
  asm.mapLookup(LOOPS, key);
  // Nobody whom we watch.
  asm.ifNull(r0, () => end());
  asm.load(r1, u32(r0));
  asm.mapLookup(BUSY, r1);
  asm.ifNull(r0, () => end());
  asm.move(r6, r0);
  if (isReturn) asm.call('ktime_get_ns');
  else asm.move(r0, 0);
  asm.store(u64(r6), r0);
  end();
}
