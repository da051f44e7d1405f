/** As deep as the processor's own: older calls fall out at the bottom (SDM "Return Compression"). */
export const RETURN_STACK_ENTRIES = 64;
const MASK = RETURN_STACK_ENTRIES - 1;

/** Return addresses of near calls: what a TNT bit for a return refers to. A ring of plain numbers. */
export class ReturnStack {
  readonly lo = new Int32Array(RETURN_STACK_ENTRIES);
  readonly hi = new Int32Array(RETURN_STACK_ENTRIES);
  /** The entry that the next call writes. */
  top = 0;
  depth = 0;

  clear(): void {
    this.top = 0;
    this.depth = 0;
  }

  push(lo: number, hi: number): void {
    this.lo[this.top] = lo;
    this.hi[this.top] = hi;
    this.top = (this.top + 1) & MASK;
    if (this.depth < RETURN_STACK_ENTRIES) this.depth++;
  }

  /** The index of the innermost call's entry, taken off; -1 where there is none. */
  pop(): number {
    if (this.depth === 0) return -1;
    this.depth--;
    this.top = (this.top - 1) & MASK;
    return this.top;
  }
}
