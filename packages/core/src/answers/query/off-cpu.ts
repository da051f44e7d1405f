import { CounterpointError, type Damage } from '../../base/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';
import { checkProfile, isOffCpuEvent, MODE_KERNEL, NONE, type Profile } from '../../profile/tables/index.ts';
import { type FunctionPlace, Functions } from './functions.ts';
import { WaitingPlaces } from './waiting-place.ts';

/** Time that threads of one kind spent off the CPU in one place. */
export interface OffCpuRow {
  /** The command name of the threads. */
  comm: string;
  /** `main`: the first thread of its process; `other`: of a pool, a worker, a library. */
  role: 'main' | 'other';
  /** Who waited: a function of JavaScript where there is one, else of the program, else of a library. */
  symbol: string;
  /** The binary of `symbol`. */
  dso: string;
  /** Of JavaScript, the file that it is in, as far as its runtime says it; else null. */
  file: string | null;
  /** The line of its parameters, from 1; null where it is not known. */
  line: number | null;
  /** The column of its parameters, from 1; null where it is not known. */
  column: number | null;
  /**
   * `waiting` in the kernel's function `wait`, `ready` to run while no CPU was free, or `unknown`: it was off
   * the CPU before the recording began.
   */
  state: 'waiting' | 'ready' | 'unknown';
  /** The kernel's function in which they waited; null where they did not, or where it is not known. */
  wait: string | null;
  /** How many threads were off the CPU there. */
  threads: number;
  /** How long, all of them together: nanoseconds, decimal. */
  timeNs: string;
  /** Share in the time of all threads of the same role, in percent. */
  percent: number;
}

/** The answer of `offCpu()`. */
export interface OffCpuAnswer {
  /** Tells this answer from others. */
  type: 'off-cpu';
  /** Version of the form of this answer. */
  version: 1;
  /** How many threads were off a CPU. */
  threads: number;
  /** Time off the CPU of all threads together; nanoseconds, decimal, as the three that follow. */
  totalNs: string;
  /** Time in which they waited for something. */
  waitingNs: string;
  /** Time in which they were ready to run, and no CPU was free. */
  readyNs: string;
  /** Time of which neither is known. */
  unknownNs: string;
  /** Longest first. */
  rows: OffCpuRow[];
  /** What the recording does not contain. */
  loss: LossEntry[];
  /** What was wrong in the recording. */
  damage: Damage[];
}

interface Group {
  row: number;
  stack: number;
  weight: number;
  threads: Set<number>;
}

/**
 * Who waited where, and for how long: of a recording with time off the CPU (`record
 * --off-cpu`, perf's `--off-cpu`).
 */
export function offCpu(profile: Profile): OffCpuAnswer {
  checkProfile('offCpu()', profile);
  const event = profile.events.findIndex(({ name }) => isOffCpuEvent(name));
  if (event < 0)
    throw new CounterpointError(
      'ERR_NO_SUCH_EVENT',
      'the recording has no time off the CPU',
      'To record it, use counterpoint record --off-cpu, or counterpoint off-cpu.',
    );
  const functions = new Functions(profile);
  const places = new Places(profile, functions);
  const { samples, threads, strings } = profile;
  const groups = new Map<string, Group>();
  const all = new Set<number>();
  for (let row = 0; row < samples.length; row++) {
    if (samples.event.at(row) !== event) continue;
    const thread = samples.thread.at(row);
    const stack = samples.stack.at(row);
    const key = [samples.comm.at(row), isMain(profile, thread), ...places.keyOf(stack)].join();
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { row, stack, weight: 0, threads: new Set() }));
    group.weight += samples.weight.at(row);
    group.threads.add(threads.tid.at(thread));
    all.add(threads.tid.at(thread));
  }
  const byRole = { main: 0, other: 0 };
  const byState = { waiting: 0, ready: 0, unknown: 0 };
  const rows = [...groups.values()]
    .sort((a, b) => b.weight - a.weight || a.row - b.row)
    .map(({ row, stack, weight, threads }) => {
      const role = isMain(profile, samples.thread.at(row)) ? ('main' as const) : ('other' as const);
      const place = places.describe(stack);
      byRole[role] += weight;
      byState[place.state] += weight;
      return { comm: strings.get(samples.comm.at(row)), role, ...place, threads: threads.size, weight };
    });
  return {
    type: 'off-cpu',
    version: 1,
    threads: all.size,
    totalNs: decimal(byRole.main + byRole.other),
    waitingNs: decimal(byState.waiting),
    readyNs: decimal(byState.ready),
    unknownNs: decimal(byState.unknown),
    rows: rows.map(({ weight, ...row }) => ({
      ...row,
      timeNs: decimal(weight),
      percent: byRole[row.role] === 0 ? 0 : (100 * weight) / byRole[row.role],
    })),
    loss: profile.loss,
    damage: profile.damage,
  };
}

const UNKNOWN = '[unknown]';

function isMain({ threads }: Profile, thread: number): boolean {
  return threads.pid.at(thread) === threads.tid.at(thread);
}

function decimal(ns: number): string {
  return BigInt(Math.round(ns)).toString();
}

/** Of each stack who waited, and in what. */
class Places {
  readonly #profile: Profile;
  readonly #functions: Functions;
  readonly #waiting: WaitingPlaces;

  constructor(profile: Profile, functions: Functions) {
    this.#profile = profile;
    this.#functions = functions;
    this.#waiting = new WaitingPlaces(profile, functions);
  }

  /** Numbers that are equal for stacks of one row. */
  keyOf(stack: number): [place: number, wait: number] {
    if (stack === NONE) return [NONE, NONE];
    const wait = this.#functionAt(this.#waiting.waitOf(stack));
    return [this.#knownAt(this.#waiting.of(stack)), wait === NONE && this.#isInKernel(stack) ? -2 : wait];
  }

  describe(stack: number): Pick<OffCpuRow, 'symbol' | 'dso' | 'file' | 'line' | 'column' | 'state' | 'wait'> {
    const profile = this.#profile;
    const functions = this.#functions;
    const [id, wait] = this.keyOf(stack);
    const place: FunctionPlace | null = id === NONE ? null : functions.place(id);
    return {
      symbol: id === NONE ? UNKNOWN : functions.name(id),
      dso: id === NONE ? UNKNOWN : profile.binaries[functions.binary(id)]!.name,
      file: place?.file ?? null,
      line: place?.line ?? null,
      column: place?.column ?? null,
      state: wait >= 0 ? 'waiting' : wait === NONE ? 'unknown' : 'ready',
      wait: wait >= 0 ? functions.name(wait) : null,
    };
  }

  #functionAt(row: number): number {
    return row === NONE ? NONE : this.#functions.ofFrame(this.#profile.stacks.frame.at(row));
  }

  /** An address that is in no file tells nobody anything, and each would be a row. */
  #knownAt(row: number): number {
    const id = this.#functionAt(row);
    if (id === NONE || this.#functions.isJit(id)) return id;
    const isNowhere = this.#profile.binaries[this.#functions.binary(id)]!.name === UNKNOWN;
    return isNowhere && this.#functions.name(id).startsWith('0x') ? NONE : id;
  }

  #isInKernel(stack: number): boolean {
    const { stacks, frames } = this.#profile;
    return frames.mode.at(stacks.frame.at(stack)) === MODE_KERNEL;
  }
}
