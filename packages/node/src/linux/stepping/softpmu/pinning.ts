import { closeSync, openSync, readFileSync } from 'node:fs';
import { affinityOf, setAffinityOf, writeTargetMemory } from '../../kernel/sys/index.ts';

/** A system call of 64-bit code that has returned. Its arguments are still in their registers. */
export interface ReturnedCall {
  number: number;
  result: number;
  arguments: readonly [number, number, number];
}

const SCHED_SETAFFINITY = 203;
const SCHED_GETAFFINITY = 204;

/**
 * Tracer and targets share one CPU: then a step costs two switches there, and no waking of another CPU, which
 * takes several times as long. A target that asks where it may run is told what it would be told without us,
 * and what it wishes itself is what it has when it is let go.
 */
export class Pinning {
  /** The CPU, as a mask; `null`: there is none that all may use, and nobody is pinned. */
  readonly #shared: Uint8Array | null;
  readonly #own = new Map<number, Uint8Array>();

  /** For this thread, which traces, and `tids`. */
  constructor(tids: readonly number[]) {
    this.#shared = sharedCpu(tids);
    if (this.#shared !== null) setAffinityOf(0, this.#shared);
  }

  /** Number of the shared CPU; -1: there is none. */
  get cpu(): number {
    if (this.#shared === null) return -1;
    const at = this.#shared.findIndex((bits) => bits !== 0);
    return 8 * at + Math.log2(this.#shared[at]!);
  }

  pin(tid: number): void {
    const own = this.#shared === null ? null : affinityOf(tid);
    if (own === null || !intersects(own, this.#shared!) || !setAffinityOf(tid, this.#shared!)) return;
    this.#own.set(tid, own);
  }

  /** A thread that `parent` has started has its affinity. */
  inherit(tid: number, parent: number): void {
    const own = this.#own.get(parent);
    if (own !== undefined && !this.#own.has(tid)) this.#own.set(tid, own);
  }

  /** `former` has another number from now on. */
  become(tid: number, former: number): void {
    const own = this.#own.get(former);
    if (own !== undefined) this.#own.set(tid, own);
  }

  /** Where it would run without us. */
  restore(tid: number): void {
    const own = this.#own.get(tid);
    this.#own.delete(tid);
    if (own === undefined) return;
    const now = affinityOf(tid);
    // Somebody else has moved it meanwhile: that stays.
    if (now !== null && isEqual(now, this.#shared!)) setAffinityOf(tid, own);
  }

  forget(tid: number): void {
    this.#own.delete(tid);
  }

  callReturned(tid: number, { number, result, arguments: [pid, , address] }: ReturnedCall): void {
    if (result < 0 || (number !== SCHED_SETAFFINITY && number !== SCHED_GETAFFINITY)) return;
    const asked = pid === 0 ? tid : pid;
    const own = this.#own.get(asked);
    if (own === undefined) return;
    if (number === SCHED_SETAFFINITY) {
      // What of its wish is possible, it has now.
      this.#own.set(asked, affinityOf(asked) ?? own);
      setAffinityOf(asked, this.#shared!);
      return;
    }
    const fd = openSync(`/proc/${tid}/mem`, 'r+');
    try {
      writeTargetMemory(fd, address, own.subarray(0, result));
    } finally {
      closeSync(fd);
    }
  }
}

/**
 * The CPU where the first of them ran last, if the tracer may use it and it may, too; else one that both may.
 */
function sharedCpu(tids: readonly number[]): Uint8Array | null {
  const tracer = affinityOf(0);
  const target = tids.length === 0 ? null : affinityOf(tids[0]!);
  if (tracer === null || target === null) return null;
  const both = tracer.map((bits, index) => bits & target[index]!);
  const cpus = Array.from({ length: both.length * 8 }, (_, cpu) => cpu).filter(
    (cpu) => ((both[cpu >> 3]! >> (cpu & 7)) & 1) === 1,
  );
  const last = lastCpu(tids[0]!);
  const cpu = cpus.includes(last) ? last : cpus[0];
  if (cpu === undefined) return null;
  const mask = new Uint8Array(both.length);
  mask[cpu >> 3] = 1 << (cpu & 7);
  return mask;
}

/** Field 39 of /proc/TID/stat; -1 when it is gone. */
function lastCpu(tid: number): number {
  try {
    const stat = readFileSync(`/proc/${tid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[36]);
  } catch {
    return -1;
  }
}

function intersects(left: Uint8Array, right: Uint8Array): boolean {
  return left.some((bits, index) => (bits & right[index]!) !== 0);
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.every((bits, index) => bits === right[index]!);
}
