import { NONE, type Profile } from '../../profile/tables/index.ts';
import type { Functions } from '../query/functions.ts';
import type { PoolRow } from './loop-answer.ts';
import { OTHER_POOL_WORK, poolMark } from './wait-causes.ts';

/** By a stack: the kind of work of a pool's thread; `idle`: it waits for work; null: it is of no pool. */
export class PoolWork {
  readonly #profile: Profile;
  readonly #functions: Functions;
  readonly #byStack = new Map<number, string | null>();
  readonly #rows = new Map<string, PoolRow & { tids: Set<number> }>();

  constructor(profile: Profile, functions: Functions) {
    this.#profile = profile;
    this.#functions = functions;
  }

  /** Has to be asked while stacks are whole. */
  kindOf(stack: number): string | null {
    let kind = this.#byStack.get(stack);
    if (kind === undefined) this.#byStack.set(stack, (kind = this.#find(stack)));
    return kind;
  }

  add(pid: number, tid: number, kind: string, timeNs: number, state: 'cpu' | 'waiting' | 'ready'): void {
    const key = `${pid} ${kind}`;
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { pid, kind, threads: 0, cpuNs: 0, waitingNs: 0, readyNs: 0, tids: new Set() };
      this.#rows.set(key, row);
    }
    row[`${state}Ns`] += timeNs;
    row.tids.add(tid);
  }

  list(): PoolRow[] {
    const timeOf = ({ cpuNs, waitingNs, readyNs }: PoolRow) => cpuNs + waitingNs + readyNs;
    return [...this.#rows.values()]
      .map(({ tids, ...row }) => ({
        ...row,
        threads: tids.size,
        cpuNs: Math.round(row.cpuNs),
        waitingNs: Math.round(row.waitingNs),
        readyNs: Math.round(row.readyNs),
      }))
      .sort((a, b) => a.pid - b.pid || timeOf(b) - timeOf(a));
  }

  #find(stack: number): string | null {
    const { stacks } = this.#profile;
    let isPool = false;
    let work: string | null = null;
    let isOutsideOfLibraries = false;
    for (let row = stack; row !== NONE; row = stacks.prefix.at(row)) {
      const name = this.#functions.name(this.#functions.ofFrame(stacks.frame.at(row)));
      const mark = poolMark(name);
      if (mark === 'engine') return null;
      if (mark === 'pool') isPool = true;
      else if (mark !== null) work ??= mark.kind;
      else if (!isPool && !WAITING.test(name) && !this.#isOfLibrary(stacks.frame.at(row)))
        isOutsideOfLibraries = true;
    }
    if (!isPool) return null;
    return work ?? (isOutsideOfLibraries ? OTHER_POOL_WORK : IDLE);
  }

  /** The kernel and the C library, through which the pool waits for its work. */
  #isOfLibrary(frame: number): boolean {
    const { binaries, frames } = this.#profile;
    const { name, kind } = binaries[frames.binary.at(frame)]!;
    return (
      kind === 'kernel' ||
      kind === 'module' ||
      kind === 'unknown' ||
      /^(?:libc[.-]|ld-|libpthread)/.test(name)
    );
  }
}

/** The way in which libuv waits. */
const WAITING = /^uv_(?:cond|mutex|sem)_/;

export const IDLE = 'idle';
