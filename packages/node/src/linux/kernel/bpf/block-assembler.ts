/**
 * Blocks instead of labels: what is done if, and how often. The callbacks run once,
 * while the program is assembled.
 */
import { type Comparison, InstructionAssembler } from './instruction-set.ts';
import { type Register, registerName } from './operands.ts';
import type { Label } from './program-writer.ts';

/** The comparison that is true where this one is not; `&` has none. */
const OPPOSITES: Readonly<Partial<Record<Comparison, Comparison>>> = {
  '==': '!=',
  '!=': '==',
  '>': '<=',
  '>=': '<',
  '<': '>=',
  '<=': '>',
  's>': 's<=',
  's>=': 's<',
  's<': 's>=',
  's<=': 's>',
};

/** What a loop's body may do besides coming to its end. */
export interface LoopControl {
  /** Go on after the loop. */
  break(): void;
  /** Go on with the next round. */
  continue(): void;
}

/** Blocks and conditions: jumps to places that need no name. */
export class BlockAssembler extends InstructionAssembler {
  /** Is the end of the program so far reached, and has to go on or return? */
  get isOpen(): boolean {
    return this.code.isReachable;
  }

  /**
   * `asm.if(r0, '==', 0, () => asm.return(0), () => …)`: numbers are compared unsigned, with `s<` and its
   * kind signed; with `w` registers the low 32 bits are.
   */
  if(
    left: Register,
    comparison: Comparison,
    right: Register | number,
    then: () => void,
    otherwise?: () => void,
  ): void {
    const elseLabel = this.code.unnamed('else');
    const endLabel = this.code.unnamed('end of if');
    const opposite = OPPOSITES[comparison];
    if (opposite !== undefined) {
      this.compareAndJump(left, opposite, right, elseLabel);
    } else {
      const thenLabel = this.code.unnamed('then');
      this.compareAndJump(left, comparison, right, thenLabel);
      this.jumpTo(elseLabel);
      this.code.place(thenLabel);
    }
    this.block(then);
    // After a block that has returned there is nothing to jump over: the verifier
    // refuses what nothing reaches.
    if (otherwise !== undefined && this.code.isReachable) this.jumpTo(endLabel);
    this.code.place(elseLabel);
    if (otherwise !== undefined) this.block(otherwise);
    this.code.place(endLabel);
  }

  /** A look-up or reservation has failed. */
  ifNull(pointer: Register, then: () => void, otherwise?: () => void): void {
    this.if(pointer, '==', 0, then, otherwise);
  }

  /** `if (r1 != 0) { … } else { … }`: the verifier lets a pointer be read in `then` alone. */
  ifNotNull(pointer: Register, then: () => void, otherwise?: () => void): void {
    this.if(pointer, '!=', 0, then, otherwise);
  }

  /**
   * `asm.repeat(r7, 16, (loop) => …)`: with r7 from 0 to 15. The verifier runs through every round, so the
   * count is a number, or a register whose greatest value it can see (after `asm.and(r8, 63)`, say).
   */
  repeat(counter: Register, count: number | Register, body: (loop: LoopControl) => void): void {
    const top = this.code.unnamed('top of loop');
    const next = this.code.unnamed('next round');
    const end = this.code.unnamed('end of loop');
    if (typeof count === 'number' && (!Number.isInteger(count) || count < 1))
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `a loop of ${count} rounds`,
        'The count is a whole number from 1.',
      );
    this.move(counter, 0);
    this.code.place(top);
    // A number of rounds is at least one, so it is asked for only after each.
    if (typeof count === 'object') this.compareAndJump(counter, '>=', count, end);
    const first = this.code.length;
    this.block(() => body({ break: () => this.jumpTo(end), continue: () => this.jumpTo(next) }));
    const call = this.lastCall;
    if (call !== null && call.slot >= first && counter.number <= 5)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `the loop counts in ${registerName(counter)}, which the call in the loop loses`,
        'Count in one of r6 to r9.',
      );
    this.code.place(next);
    if (this.code.isReachable) {
      this.add(counter, 1);
      if (typeof count === 'object') this.jumpTo(top);
      else this.compareAndJump(counter, '<', count, top);
    }
    this.code.place(end);
  }

  /** The latest call, by the order in which the program is written. */
  protected lastCall: { readonly slot: number } | null = null;

  /** Called behind each call of a helper: r1 to r5 hold nothing any more. */
  protected override called(): void {
    this.lastCall = { slot: this.code.length };
  }

  /** `goto label`, in the form that fits the distance. */
  protected jumpTo(label: Label): void {
    this.code.jump(label);
  }

  /**
   * Run a caller's block. What it returns is looked at only to find an async function,
   * whose lines would come too late.
   */
  protected block(body: () => unknown): void {
    const returned = body();
    if (!(returned instanceof Promise)) return;
    // It is refused already; what it throws later is nobody's.
    returned.catch(() => {});
    throw this.code.error(
      'ERR_BPF_ASYNC_BLOCK',
      'a block of a program is an async function',
      'Await before it; a block writes its instructions while it runs.',
    );
  }
}
