/** The part of `AbortSignal` that is used: every host's has it. */
export interface CancelSignal {
  /** Whether to end. */
  readonly aborted: boolean;
  /** Why, as `abort(reason)` got it. What is cancelled throws it. */
  readonly reason: unknown;
  /** Throws `reason` once it is aborted. */
  throwIfAborted(): void;
  /** Calls the listener when it is aborted. */
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  /** Takes the listener off again. */
  removeEventListener(type: 'abort', listener: () => void): void;
}
