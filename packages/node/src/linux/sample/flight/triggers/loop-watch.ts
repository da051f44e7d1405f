import type { Whereabouts } from './thread-whereabouts.ts';

const NS_PER_MS = 1_000_000n;
/** A loop that may just be coming out of its wait is looked at again after so long. */
const RECHECK_NS = 5n * NS_PER_MS;
/** The way out of a wait takes microseconds: who has had a CPU for so long is not on it. */
const BUSY_CPU_NS = 1_000_000;

/** What is known of loops from outside: the table in the kernel, and /proc. */
export interface LoopSenses {
  since(place: number): bigint;
  whereIs(pid: number): Whereabouts;
  cpuNs(pid: number): number | null;
  /** Beginnings of waits are in the table, too: whoever is busy there is busy. */
  seesEntries(): boolean;
  /** Nobody can say whether this process waits. */
  hidden(pid: number): void;
}

interface Loop {
  readonly place: number;
  /** When the last wait returned that was looked at. */
  since: bigint;
  /** Nothing more is to be learnt of the time since then: it waits again, or was told of. */
  isSettled: boolean;
  /** Late, unless it is just coming out of its wait: the CPU time that it had then. */
  suspectCpuNs: number | null | undefined;
}

export interface LateLoop {
  pid: number;
  lateMs: number;
}

/**
 * Which loops are late, and when to look again. The kernel tells of the ends of waits; whether a thread that
 * has not come back for too long is in its next wait is asked when that can matter, once for each wait.
 *
 *   wait returns ──────────── delay ────────────> looked at: still no other return
 *                                                  ├─ in its next wait: nothing until that one returns
 *                                                  └─ elsewhere, or running for a millisecond: late
 *
 * Looks come when the first loop could be late, and so no lateness that is over the delay passes unseen.
 */
export class LoopWatch {
  readonly #loops = new Map<number, Loop>();
  readonly #senses: LoopSenses;
  readonly #delayNs: bigint;

  constructor(senses: LoopSenses, delayMs: number) {
    this.#senses = senses;
    this.#delayNs = BigInt(Math.round(delayMs * 1e6));
  }

  has(pid: number): boolean {
    return this.#loops.has(pid);
  }

  add(pid: number, place: number): void {
    this.#loops.set(pid, { place, since: 0n, isSettled: false, suspectCpuNs: undefined });
  }

  /** Its place, which is free now. */
  remove(pid: number): number | null {
    const place = this.#loops.get(pid)?.place ?? null;
    this.#loops.delete(pid);
    return place;
  }

  /** Call it at `nextNs`, and never later than that. */
  look(nowNs: bigint): { late: LateLoop[]; nextNs: bigint } {
    const late: LateLoop[] = [];
    // Whoever returns from a wait right after this look is late then.
    let nextNs = nowNs + this.#delayNs;
    for (const [pid, loop] of this.#loops) {
      const dueNs = this.#lookAt(pid, loop, nowNs, late);
      if (dueNs < nextNs) nextNs = dueNs;
    }
    return { late, nextNs };
  }

  /** When to look again at this one. */
  #lookAt(pid: number, loop: Loop, nowNs: bigint, late: LateLoop[]): bigint {
    const idleNs = nowNs + this.#delayNs;
    const since = this.#senses.since(loop.place);
    if (since !== loop.since) {
      loop.since = since;
      loop.isSettled = false;
      loop.suspectCpuNs = undefined;
    }
    if (since === 0n || loop.isSettled) return idleNs;
    if (nowNs - since < this.#delayNs) return since + this.#delayNs;
    const whereabouts = this.#senses.seesEntries() ? 'elsewhere' : this.#senses.whereIs(pid);
    if (whereabouts === 'running' && !this.#isSurelyBusy(pid, loop)) return nowNs + RECHECK_NS;
    loop.isSettled = true;
    if (whereabouts === 'hidden') this.#senses.hidden(pid);
    if (whereabouts === 'elsewhere' || whereabouts === 'running')
      late.push({ pid, lateMs: Math.round(Number(nowNs - since) / 1e6) });
    return idleNs;
  }

  /** It may have been woken in its wait, and not be out of it yet. Then it has had no CPU since. */
  #isSurelyBusy(pid: number, loop: Loop): boolean {
    const cpuNs = this.#senses.cpuNs(pid);
    const before = loop.suspectCpuNs;
    if (before === undefined) {
      loop.suspectCpuNs = cpuNs;
      return false;
    }
    return cpuNs === null || before === null || cpuNs - before >= BUSY_CPU_NS;
  }
}
