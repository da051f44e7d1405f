import { constants } from 'node:os';
import { readProc } from '../../../linux/kernel/target/index.ts';
import { GroupWitness } from './group-witness.ts';

/** A command that ends sooner is not to share its CPU with a witness. */
const YOUNG_MS = 200;
/** What a terminal's keys send. */
const KEYS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT']);

/** A running command of this process, and the signals that it gets. */
export class FollowedCommand implements Disposable {
  readonly #pid: number;
  #witness: GroupWitness | null = null;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setTimeout(() => {
      if (this.isAlive) this.#witness = new GroupWitness();
    }, YOUNG_MS).unref();
  }

  /** It is still our child: nobody else has its number before Node has heard of its end. */
  get isAlive(): boolean {
    const facts = jobFacts(this.#pid);
    return facts !== null && facts.parent === process.pid && facts.state !== 'Z' && facts.state !== 'X';
  }

  send(signal: NodeJS.Signals): void {
    if (!this.isAlive) return;
    try {
      process.kill(this.#pid, signal);
    } catch {
      // It has ended, or has become another user's.
    }
  }

  /** Once this process has got a signal: send it on, unless the command has got it, too. */
  async passOn(signal: NodeJS.Signals): Promise<void> {
    if (await this.#hasGot(signal)) return;
    // It was started so, as what a script starts with `&` is: it would go on for ever.
    this.send(ignores(this.#pid, signal) ? 'SIGTERM' : signal);
  }

  async #hasGot(signal: NodeJS.Signals): Promise<boolean> {
    const [own, its] = [jobFacts('self'), jobFacts(this.#pid)];
    if (own === null || its === null) return false;
    const seen = (await this.#witness?.saw(signal)) ?? (KEYS.has(signal) && own.foreground === own.group);
    return seen && its.group === own.group;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#witness?.[Symbol.dispose]();
  }
}

interface JobFacts {
  state: string;
  parent: number;
  /** Its process group. */
  group: number;
  /** The process group that has the keys of its terminal; -1 without one. */
  foreground: number;
}

function jobFacts(pid: number | 'self'): JobFacts | null {
  const stat = readProc(`${pid}/stat`);
  if (stat === null) return null;
  // Behind the name in brackets, which may hold blanks and brackets.
  const [state = '', parent, group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent), group: Number(group), foreground: Number(foreground) };
}

function ignores(pid: number, signal: NodeJS.Signals): boolean {
  const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readProc(`${pid}/status`) ?? '')?.[1] ?? '0';
  return ((BigInt(`0x${mask}`) >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}
