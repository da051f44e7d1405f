import { NONE } from '../../profile/tables/index.ts';
import type { SeenTurn } from './kept-turns.ts';
import type { LoopPart, LoopShare, LoopTurn, LoopWait } from './loop-answer.ts';
import type { StackBlame } from './stack-blame.ts';
import type { PartState, TurnPart } from './turn-parts.ts';
import { waitCause } from './wait-causes.ts';

const MOST_FUNCTIONS = 5;
/** For pictures: of the parts of one turn. */
const MOST_PARTS = 2000;

/** What samples say of waits, looked at before stacks lost the kernel's functions. */
export type KernelWaits = ReadonlyMap<number, string>;

/** Sums of what turns did. */
export class TurnSums {
  readonly states = { cpu: 0, waiting: 0, ready: 0 };
  /** Time by row of the stack table that is to blame. */
  readonly rows = new Map<number, number>();
  readonly #work = new Map<string, number>();
  readonly #waits = new Map<string, LoopWait>();
  readonly #blame: StackBlame;
  readonly #kernelWaits: KernelWaits;

  constructor(blame: StackBlame, kernelWaits: KernelWaits) {
    this.#blame = blame;
    this.#kernelWaits = kernelWaits;
  }

  add({ startNs, endNs, state, row, stack, isInferred }: TurnPart): void {
    const lengthNs = endNs - startNs;
    this.states[state] += lengthNs;
    const blamed = stack === NONE ? NONE : this.#blame.rowOf(stack);
    if (blamed !== NONE) addTo(this.rows, blamed, lengthNs);
    if (state === 'cpu')
      addTo(this.#work, stack === NONE || isInferred ? NOT_SAMPLED : this.#blame.workOf(stack), lengthNs);
    if (state === 'waiting') this.#wait(row, blamed, lengthNs, isInferred);
  }

  /** By function: its time, and the row in which it took most. */
  functions(): { id: number; timeNs: number; row: number }[] {
    const byId = new Map<number, { id: number; timeNs: number; row: number; mostNs: number }>();
    for (const [row, timeNs] of this.rows) {
      const id = this.#blame.functionOf(row);
      const sum = byId.get(id);
      if (sum === undefined) {
        byId.set(id, { id, timeNs, row, mostNs: timeNs });
        continue;
      }
      sum.timeNs += timeNs;
      if (timeNs > sum.mostNs) Object.assign(sum, { row, mostNs: timeNs });
    }
    return [...byId.values()].sort((a, b) => b.timeNs - a.timeNs);
  }

  work(): LoopShare[] {
    const total = this.states.cpu;
    return [...this.#work]
      .map(([name, timeNs]) => ({ name, timeNs: Math.round(timeNs), percent: percentOf(timeNs, total) }))
      .sort((a, b) => b.timeNs - a.timeNs);
  }

  waits(): LoopWait[] {
    return [...this.#waits.values()]
      .map((wait) => ({ ...wait, timeNs: Math.round(wait.timeNs) }))
      .sort((a, b) => b.timeNs - a.timeNs);
  }

  #wait(row: number, blamed: number, timeNs: number, isInferred: boolean): void {
    const kernelFunction = this.#kernelWaits.get(row) ?? null;
    const id = blamed === NONE ? NONE : this.#blame.functionOf(blamed);
    const key = `${kernelFunction} ${id} ${isInferred}`;
    const wait = this.#waits.get(key);
    if (wait !== undefined) {
      wait.timeNs += timeNs;
      wait.times++;
      return;
    }
    const who = id === NONE ? null : this.#blame.describe(id);
    this.#waits.set(key, {
      cause: waitCause(kernelFunction),
      kernelFunction,
      function: who,
      isInferred,
      timeNs,
      times: 1,
    });
  }
}

/** On the CPU for less than the distance of two samples. */
export const NOT_SAMPLED = 'between samples';

function addTo<Key>(sums: Map<Key, number>, key: Key, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

export function percentOf(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
}

/** Everything that is known of one turn. */
export function tellTurn(
  { kind, startNs, endNs }: SeenTurn,
  parts: readonly TurnPart[],
  sums: TurnSums,
  facts: { blame: StackBlame; kernelWaits: KernelWaits; originNs: number },
): LoopTurn {
  const { blame } = facts;
  const functions = sums.functions();
  const most = functions[0];
  const lengthNs = endNs - startNs;
  return {
    kind,
    startNs: Math.round(startNs - facts.originNs),
    lengthNs: Math.round(lengthNs),
    cpuNs: Math.round(sums.states.cpu),
    waitingNs: Math.round(sums.states.waiting),
    readyNs: Math.round(sums.states.ready),
    function: most === undefined ? null : blame.describe(most.id),
    stack: most === undefined ? [] : blame.callersOf(most.row),
    functions: functions.slice(0, MOST_FUNCTIONS).map(({ id, timeNs }) => ({
      ...blame.describe(id),
      timeNs: Math.round(timeNs),
      percent: percentOf(timeNs, lengthNs),
    })),
    work: sums.work(),
    waits: sums.waits(),
    parts: tellParts(startNs, parts, facts),
  };
}

/** Neighbours of the same kind are one part. */
function tellParts(
  turnStartNs: number,
  parts: readonly TurnPart[],
  { blame, kernelWaits }: Parameters<typeof tellTurn>[3],
): LoopPart[] {
  const told: LoopPart[] = [];
  for (const { startNs, endNs, state, row, stack, isInferred } of parts) {
    const name = stack === NONE ? '' : blame.describe(blame.functionOf(blame.rowOf(stack))).name;
    const work = workText(
      state,
      stack === NONE || isInferred ? null : blame.workOf(stack),
      kernelWaits.get(row) ?? null,
    );
    const last = told.at(-1);
    if (
      last !== undefined &&
      last.state === state &&
      last.work === work &&
      last.function === name &&
      last.isInferred === isInferred
    ) {
      last.lengthNs = Math.round(endNs - turnStartNs) - last.startNs;
      continue;
    }
    if (told.length >= MOST_PARTS) break;
    const partStartNs = Math.round(startNs - turnStartNs);
    const lengthNs = Math.round(endNs - turnStartNs) - partStartNs;
    told.push({ startNs: partStartNs, lengthNs, state, work, function: name, isInferred });
  }
  return told;
}

function workText(state: PartState, work: string | null, kernelFunction: string | null): string {
  if (state === 'ready') return 'ready, no CPU free';
  return state === 'waiting' ? waitCause(kernelFunction) : (work ?? '');
}
