import { FlowEvent } from './event.ts';

/**
 * Events that are known but not due: they wait for the packet that gives them their address.
 *
 *   bound to      due with
 *   AT_PSBEND     PSBEND, or the OVF in its place
 *   AT_FUP        the next FUP, which still begins an asynchronous branch
 *   AT_OWN_FUP    the next FUP, which is there for this event alone
 *   AT_TIP        the next TIP, TIP.PGE or TIP.PGD
 *   AT_EXSTOP     the EXSTOP that ends the preparations for sleep (MWAIT, PWRE)
 *   AT_CFE        the CFE that the EVD packets before it belong to
 *
 * A handful at most on real traces, in the order they came. An event may be bound to one of two.
 */
export const AT_PSBEND = 1;
export const AT_FUP = 2;
export const AT_OWN_FUP = 4;
export const AT_TIP = 8;
export const AT_EXSTOP = 16;
export const AT_CFE = 32;
export const AT_ANY = 63;

const CAPACITY = 16;

export class PendingEvents {
  count = 0;
  readonly #events: FlowEvent[] = Array.from({ length: CAPACITY }, () => new FlowEvent());
  readonly #bindings = new Uint8Array(CAPACITY);

  clear(): void {
    this.count = 0;
  }

  /** A cleared event at the end, to be filled; null where there is no room: no processor gets there. */
  add(binding: number, kind: number): FlowEvent | null {
    if (this.count === CAPACITY) return null;
    this.#bindings[this.count] = binding;
    return this.#events[this.count++]!.clear(kind);
  }

  has(binding: number): boolean {
    return this.#indexOf(binding, 0) >= 0;
  }

  /**
   * The first event of a binding, which stays; null if there is none. With `kind`, the first of that kind.
   */
  find(binding: number, kind = 0): FlowEvent | null {
    const index = this.#indexOf(binding, kind);
    return index < 0 ? null : this.#events[index]!;
  }

  /** Move the first event of a binding (and kind) to `out`; false if there is none. */
  take(binding: number, out: FlowEvent, kind = 0): boolean {
    const index = this.#indexOf(binding, kind);
    if (index < 0) return false;
    const taken = this.#events[index]!;
    out.copyFrom(taken);
    this.count--;
    for (let at = index; at < this.count; at++) {
      this.#events[at] = this.#events[at + 1]!;
      this.#bindings[at] = this.#bindings[at + 1]!;
    }
    this.#events[this.count] = taken;
    return true;
  }

  #indexOf(binding: number, kind: number): number {
    for (let at = 0; at < this.count; at++)
      if ((this.#bindings[at]! & binding) !== 0 && (kind === 0 || this.#events[at]!.kind === kind)) return at;
    return -1;
  }
}
