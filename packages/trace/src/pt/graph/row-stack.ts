import { RETURN_STACK_ENTRIES } from '../flow/return-stack.ts';
import { ROW_STACK_MASK } from './step-facts.ts';

/**
 * Where near calls return to, as rows of the step table. A ring: older calls fall out at the
 * bottom, as from the processor's.
 */
export class RowStack {
  readonly rows = new Int32Array(ROW_STACK_MASK + 1);
  /** The entry that the next call writes. */
  top = 0;
  depth = 0;

  clear(): void {
    this.depth = 0;
  }

  push(row: number): void {
    this.rows[this.top] = row;
    this.top = (this.top + 1) & ROW_STACK_MASK;
    if (this.depth < RETURN_STACK_ENTRIES) this.depth++;
  }

  /** Forget the oldest so that `count` more fit without any falling out. */
  makeRoom(count: number): void {
    this.depth = Math.min(this.depth, RETURN_STACK_ENTRIES - count);
  }

  /** The innermost, taken off; only with `depth` above 0. */
  pop(): number {
    this.depth--;
    this.top = (this.top - 1) & ROW_STACK_MASK;
    return this.rows[this.top]!;
  }

  /** From the outermost to the innermost. */
  forEach(visit: (row: number) => void): void {
    for (let back = this.depth; back > 0; back--) visit(this.rows[(this.top - back) & ROW_STACK_MASK]!);
  }
}
