import type { ExecutionBlock, ExecutionCode } from './execution-code.ts';
import { type ExecutionPath, type NextStep, STEP_END, STEP_ON } from './execution-path.ts';

/** A path that somebody wrote down: the address of every instruction, low and high half in turn. */
export class RecordedPath implements ExecutionPath {
  private readonly addresses: Int32Array;
  private at = 0;

  constructor(addresses: Int32Array) {
    this.addresses = addresses;
  }

  start(_code: ExecutionCode, step: NextStep): void {
    this.fill(step);
  }

  next(block: ExecutionBlock, _code: ExecutionCode, step: NextStep): number {
    this.at += block.addresses.length;
    if (this.at >= this.addresses.length) return STEP_END;
    this.fill(step);
    return STEP_ON;
  }

  private fill(step: NextStep): void {
    step.lo = this.addresses[this.at]!;
    step.hi = this.addresses[this.at + 1]!;
  }
}
