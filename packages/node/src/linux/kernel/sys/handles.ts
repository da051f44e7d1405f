import { closeSync } from 'node:fs';
import { checkArgument } from '@counterpoint/core/base';

/**
 * Every open descriptor and mapping that this library made, with the stack that made it where that was asked
 * for: how tests see that nothing is left.
 */
const live = new Map<object, { kind: string; birth: string | null }>();
let isTraced = false;

/** Keep the stack of every handle made from now on. */
export function traceHandles(on: boolean): void {
  isTraced = on;
}

/** One line per handle that is still open. */
export function liveHandles(): string[] {
  return [...live.values()].map(({ kind, birth }) => (birth === null ? kind : `${kind} made at ${birth}`));
}

function register(handle: object, kind: string): void {
  live.set(handle, { kind, birth: isTraced ? (new Error().stack ?? null) : null });
}

/** Owns a file descriptor: closes it once. */
export class Fd {
  /** Number of the descriptor. */
  readonly number: number;
  readonly #closeNumber: (number: number) => void;
  #afterClose: (() => void) | null = null;
  #isOpen = true;

  /** Takes over an open descriptor. `closeNumber` closes it. */
  constructor(number: number, closeNumber: (number: number) => void = closeSync) {
    this.number = number;
    this.#closeNumber = closeNumber;
    register(this, `fd ${number}`);
  }

  /** Whether it can be used: it was neither closed nor handed over. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Closes the descriptor. Closing twice does nothing. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    live.delete(this);
    try {
      this.#closeNumber(this.number);
    } finally {
      this.#afterClose?.();
    }
  }

  /** What must stay as long as the descriptor is open, and end with it. */
  afterClose(end: () => void): void {
    checkArgument(typeof end === 'function', 'afterClose()', 'the end', end, 'a function');
    this.#afterClose = end;
  }

  /** Give the descriptor away: it stays open, and another closes it. */
  release(): number {
    if (!this.#isOpen) throw new Error(`descriptor ${this.number} is already closed`);
    this.#isOpen = false;
    live.delete(this);
    return this.number;
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** Owns mapped memory. After `close` a view that somebody kept reads zeros. */
export class Mapping {
  /** The memory. It has no bytes once the mapping is closed. */
  readonly buffer: ArrayBuffer;
  /** Where it is, for machine code that reads it; null for memory that only plays a mapping. */
  readonly address: bigint | null;
  readonly #unmap: () => void;
  #isOpen = true;

  /** Takes over mapped memory. `unmap` ends it. */
  constructor(buffer: ArrayBuffer, unmap: () => void, address: bigint | null = null) {
    this.buffer = buffer;
    this.address = address;
    this.#unmap = unmap;
    register(this, `mapping of ${buffer.byteLength} bytes`);
  }

  /** Ends the mapping. Closing twice does nothing. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    live.delete(this);
    this.#unmap();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** Owns machine code. After `close` a call is an error, never a jump into memory that is gone. */
export class NativeCode {
  readonly address: bigint;
  readonly #unmap: () => void;
  #function: (() => number) | null;

  constructor(address: bigint, sizeBytes: number, call: () => number, unmap: () => void) {
    this.address = address;
    this.#function = call;
    this.#unmap = unmap;
    register(this, `code of ${sizeBytes} bytes`);
  }

  call(): number {
    if (this.#function === null) throw new Error('this code is already closed');
    return this.#function();
  }

  close(): void {
    if (this.#function === null) return;
    this.#function = null;
    live.delete(this);
    this.#unmap();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
