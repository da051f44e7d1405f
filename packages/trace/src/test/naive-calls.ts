import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_FAR_CALL,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
} from '../code/instructions/index.ts';
import { CALL_KIND_NAMES, LEFT_NAMES } from '../pt/index.ts';

interface OpenCall {
  kind: string;
  callee: bigint | null;
  caller: bigint | null;
  behind: bigint | null;
  entered: number;
}

const [, NEAR = '', , , , ROOT = '', UNTRACED = '', ENTERED = ''] = CALL_KIND_NAMES;
const [, RETURN = '', LATE = '', UNWOUND = '', ELSEWHERE = '', , END = ''] = LEFT_NAMES;

/**
 * The slow twin of CallTracker: one instruction after the other, a plain list of open calls,
 * and a search for each return.
 */
export class NaiveCalls {
  /** A line for each call that ended. */
  readonly lines: string[] = [];
  instructions = 0;
  readonly #open: OpenCall[] = [];
  readonly #callers = new Map<bigint, bigint | null>();
  #branch: { kind: number; at: bigint; behind: bigint } | null = null;

  execute(at: bigint, kind: number, size: number): void {
    this.#arrive(at);
    this.instructions++;
    this.#branch = { kind, at, behind: at + BigInt(size) };
  }

  interrupt(at: bigint): void {
    this.#arrive(at);
    this.#push({ kind: UNTRACED, callee: null, caller: at, behind: at });
  }

  off(): void {
    const branch = this.#branch;
    this.#branch = null;
    if (branch?.kind === KIND_FAR_CALL)
      this.#push({ kind: UNTRACED, callee: null, caller: branch.at, behind: branch.behind });
    else throw new Error('the twin knows only system calls');
  }

  on(at: bigint): void {
    const top = this.#open.at(-1);
    let behind: bigint | null = null;
    if (top?.kind === UNTRACED) {
      behind = top.behind;
      this.#pop(behind === at ? RETURN : ELSEWHERE);
      if (behind === at) return;
    }
    if (this.#unwindToReturn(at)) return;
    this.#push({ kind: this.#open.length === 0 ? ROOT : ENTERED, callee: at, caller: null, behind });
  }

  end(): string[] {
    while (this.#open.length > 0) this.#pop(END);
    return this.lines;
  }

  #arrive(at: bigint): void {
    const branch = this.#branch;
    const open = this.#open;
    this.#branch = null;
    const isEmpty = open.length === 0;
    if (branch?.kind === KIND_CALL_INDIRECT || (branch?.kind === KIND_CALL && branch.behind !== at)) {
      this.#callers.set(branch.behind, open.at(-1)!.callee);
      this.#push({ kind: NEAR, callee: at, caller: branch.at, behind: branch.behind });
    } else if (branch?.kind === KIND_RETURN && !isEmpty) this.#returned(at);
    else if (branch?.kind === KIND_JUMP_INDIRECT && !isEmpty) this.#unwindToCaller(at, 1);
    else if (isEmpty) this.#push({ kind: ROOT, callee: at, caller: null, behind: null });
  }

  #returned(to: bigint): void {
    if (this.#unwindToReturn(to) || this.#unwindToCaller(to, 0)) return;
    this.#pop(this.#open.at(-1)!.kind === ROOT ? RETURN : ELSEWHERE);
    this.#push({ kind: ROOT, callee: to, caller: null, behind: null });
  }

  #unwindToReturn(to: bigint): boolean {
    const found = this.#open.findLastIndex(({ behind }) => behind === to);
    if (found < 0) return false;
    const isInnermost = found === this.#open.length - 1;
    while (this.#open.length - 1 > found) this.#pop(UNWOUND);
    this.#pop(isInnermost ? RETURN : LATE);
    return true;
  }

  /** `isJump` 1: the innermost may be the one itself, and then nothing happens. */
  #unwindToCaller(to: bigint, isJump: number): boolean {
    if (!this.#callers.has(to)) return false;
    const caller = this.#callers.get(to);
    const candidates = this.#open.slice(0, isJump === 1 ? undefined : -1);
    const found = candidates.findLastIndex(({ callee }) => callee === caller);
    if (found < 0) return false;
    while (this.#open.length - 1 > found) this.#pop(UNWOUND);
    return true;
  }

  #push(call: Omit<OpenCall, 'entered'>): void {
    this.#open.push({ ...call, entered: this.instructions });
  }

  #pop(left: string): void {
    const { kind, callee, caller, entered } = this.#open.pop()!;
    this.lines.push(
      callLine(kind, left, callee, caller, this.#open.length, this.instructions - entered, this.instructions),
    );
  }
}

export function callLine(
  kind: string,
  left: string,
  callee: bigint | null,
  caller: bigint | null,
  depth: number,
  instructions: number,
  leftAt: number,
): string {
  const hex = (address: bigint | null) => (address === null ? '-' : address.toString(16));
  return `${depth} ${kind} ${hex(callee)} from ${hex(caller)}: ${instructions} instructions, ${left} at ${leftAt}`;
}
