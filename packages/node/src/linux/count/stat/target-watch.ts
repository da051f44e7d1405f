import { readProc } from '../../kernel/target/index.ts';

const POLL_MS = 50;

/** Calls back when none of the tasks is left; with null it only keeps this process waiting. */
export class TargetWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;

  constructor(tasks: readonly number[] | null, onEnd: () => void) {
    this.#timer = setInterval(() => {
      if (tasks?.every((task) => !isAlive(task)) === true) onEnd();
    }, POLL_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** There, and not a zombie that waits for its parent. */
function isAlive(task: number): boolean {
  const stat = readProc(`${task}/stat`);
  if (stat === null) return false;
  const state = stat[stat.lastIndexOf(')') + 2];
  return state !== 'Z' && state !== 'X';
}
