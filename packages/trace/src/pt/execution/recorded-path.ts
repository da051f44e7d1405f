import { CounterpointError, toHex } from '@counterpoint/core/base';
import type { ExecutionBlock, ExecutionCode } from './execution-code.ts';
import { type ExecutionPath, type NextStep, STEP_END, STEP_ON } from './execution-path.ts';

/**
 * A path that somebody wrote down: the address of every instruction, low and high
 * half in turn. Ends with a branch.
 */
export class RecordedPath implements ExecutionPath {
  readonly #addresses: Int32Array;
  #at = 0;

  constructor(addresses: Int32Array) {
    if (addresses.length === 0 || addresses.length % 2 !== 0)
      throw new CounterpointError(
        'ERR_EXECUTION_PATH',
        `a path of ${addresses.length} halves of addresses is none`,
        'Give the low and the high half of each address in turn, of one instruction at least.',
      );
    this.#addresses = addresses;
  }

  /** As `ExecutionPath` says. */
  start(_code: ExecutionCode, step: NextStep): void {
    this.#fill(step);
  }

  /** As `ExecutionPath` says. Throws `ERR_EXECUTION_PATH` where the code is not that of the path. */
  next(block: ExecutionBlock, _code: ExecutionCode, step: NextStep): number {
    this.#check(block);
    this.#at += block.addresses.length;
    if (this.#at >= this.#addresses.length) return STEP_END;
    this.#fill(step);
    return STEP_ON;
  }

  /** What the encoder ran is what was recorded: else the trace would tell of another execution. */
  #check({ addresses, lo, hi }: ExecutionBlock): void {
    for (let index = 0; index < addresses.length; index++)
      if (addresses[index] !== this.#addresses[this.#at + index])
        throw new CounterpointError(
          'ERR_EXECUTION_PATH',
          `the code at 0x${toHex(lo >>> 0, hi >>> 0)} goes on otherwise than the path, after ${index >> 1} instructions`,
          'The path must have been recorded from this very code, and end with a branch.',
        );
  }

  #fill(step: NextStep): void {
    step.lo = this.#addresses[this.#at]!;
    step.hi = this.#addresses[this.#at + 1]!;
  }
}
