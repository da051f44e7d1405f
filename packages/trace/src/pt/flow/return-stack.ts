/** As deep as the processor's own: older calls fall out at the bottom (SDM "Return Compression"). */
export const RETURN_STACK_ENTRIES = 64;
const MASK = RETURN_STACK_ENTRIES - 1;

/** Return addresses of near calls: what a TNT bit for a return refers to. A ring of plain numbers. */
export class ReturnStack {
  readonly lo = new Int32Array(RETURN_STACK_ENTRIES);
  readonly hi = new Int32Array(RETURN_STACK_ENTRIES);
  /** The entry that the next call writes. */
  #top = 0;
  #depth = 0;
  /** Who knows what is on the stack, until somebody asks. */
  #fill: ((stack: ReturnStack) => void) | null = null;

  get depth(): number {
    this.#settle();
    return this.#depth;
  }

  clear(): void {
    this.#fill = null;
    this.#top = 0;
    this.#depth = 0;
  }

  /**
   * What is on the stack is written down by `fill` (with `push`) once it matters: another engine
   * has it in a form of its own.
   */
  defer(fill: (stack: ReturnStack) => void): void {
    this.#fill = fill;
  }

  /** Nobody has looked at the stack, or changed it, since `defer` was called with this. */
  isDeferred(fill: (stack: ReturnStack) => void): boolean {
    return this.#fill === fill;
  }

  push(lo: number, hi: number): void {
    this.#settle();
    this.lo[this.#top] = lo;
    this.hi[this.#top] = hi;
    this.#top = (this.#top + 1) & MASK;
    if (this.#depth < RETURN_STACK_ENTRIES) this.#depth++;
  }

  /** The index of the innermost call's entry, taken off; -1 if there is none. */
  pop(): number {
    this.#settle();
    if (this.#depth === 0) return -1;
    this.#depth--;
    this.#top = (this.#top - 1) & MASK;
    return this.#top;
  }

  /** From the outermost call to the innermost. */
  forEach(visit: (lo: number, hi: number) => void): void {
    this.#settle();
    for (let back = this.#depth; back > 0; back--) {
      const entry = (this.#top - back) & MASK;
      visit(this.lo[entry]!, this.hi[entry]!);
    }
  }

  #settle(): void {
    const fill = this.#fill;
    if (fill === null) return;
    this.clear();
    fill(this);
  }
}
