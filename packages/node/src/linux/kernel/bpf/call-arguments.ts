/**
 * The order in which the arguments of a call are put into r1 to r5, so that none is overwritten
 * while another still needs it:
 *
 *   call(r2, r1)    r1 <- r2 and r2 <- r1 go in a circle: r0, which the call overwrites anyway, breaks it
 *                   r0 = r1, r1 = r2, r2 = r0
 */
import { ARGUMENT_REGISTERS, type MemoryOperand, type Register, r0 } from './operands.ts';

/** A register or an address that is to be an argument. */
export interface ArgumentMove {
  readonly target: Register;
  readonly source: Register;
  /** Added after the move: an address is a register and an offset. */
  readonly addBytes: number;
}

export type RegisterArgument = Register | MemoryOperand;

/** The moves of the arguments that read registers, in an order that is safe one after another. */
export function orderMoves(arguments_: readonly (RegisterArgument | null)[]): ArgumentMove[] {
  let pending: ArgumentMove[] = [];
  arguments_.forEach((argument, index) => {
    if (argument === null) return;
    const target = ARGUMENT_REGISTERS[index]!;
    if (argument.kind === 'register') pending.push({ target, source: argument, addBytes: 0 });
    else pending.push({ target, source: argument.base, addBytes: argument.offsetBytes });
  });
  const ordered: ArgumentMove[] = [];
  while (pending.length > 0) {
    const free = pending.find(
      (move) => !pending.some((other) => other !== move && other.source.number === move.target.number),
    );
    if (free !== undefined) {
      ordered.push(free);
      pending = pending.filter((move) => move !== free);
      continue;
    }
    // Every target is still a source: only circles of r1 to r5 are left, so r0 is nobody's source.
    const kept = pending[0]!.target;
    ordered.push({ target: r0, source: kept, addBytes: 0 });
    pending = pending.map((move) =>
      move.source.number === kept.number ? { ...move, source: { ...r0, bits: move.source.bits } } : move,
    );
  }
  return ordered;
}
