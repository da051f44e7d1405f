/**
 * Where a branch goes that only the trace can tell: outcomes, compressed returns, targets,
 * and targets that were deferred.
 */
import { KIND_CONDITIONAL, KIND_RETURN } from '../../code/instructions/index.ts';
import type { CodeWalk } from './code-walk.ts';
import { EVENT_TICK, EVENT_TIP, EVENT_TNT, FlowEvent } from './event.ts';
import type { EventReader } from './event-reader.ts';
import { FLOW_BAD_PACKET, FLOW_BAD_QUERY, FLOW_BAD_RETURN, FLOW_RETURN_STACK_EMPTY } from './flow-errors.ts';
import type { FlowState } from './flow-state.ts';

/** The branch was taken with all that the event at hand says: the next must be fetched. */
export const BRANCH_USES_EVENT = 1;

export class TakenBranch {
  readonly #state: FlowState;
  readonly #walk: CodeWalk;
  readonly #reader: EventReader;
  readonly #ticks: boolean;
  readonly #scratchEvent = new FlowEvent();

  constructor(state: FlowState, walk: CodeWalk, reader: EventReader, ticks: boolean) {
    this.#state = state;
    this.#walk = walk;
    this.#reader = reader;
    this.#ticks = ticks;
  }

  /** Get past the instruction that was read. 0, BRANCH_USES_EVENT or a FLOW_* code. */
  take(): number {
    const state = this.#state;
    const walk = this.#walk;
    const { event } = state;
    const { instruction } = walk;
    const { kind } = instruction;
    if (kind === KIND_CONDITIONAL) {
      if (event.kind !== EVENT_TNT) return FLOW_BAD_QUERY;
      walk.skip(instruction.length);
      instruction.isTaken = this.#takeBit();
      if (instruction.isTaken) walk.jump();
      return 0;
    }
    if (kind === KIND_RETURN && event.kind === EVENT_TNT) {
      if (!this.#takeBit()) return FLOW_BAD_RETURN;
      const entry = state.returns.pop();
      if (entry < 0) return FLOW_RETURN_STACK_EMPTY;
      state.ipLo = state.returns.lo[entry]!;
      state.ipHi = state.returns.hi[entry]!;
      return 0;
    }
    return this.#takeTarget();
  }

  #takeBit(): boolean {
    const { event } = this.#state;
    const at = --event.count;
    this.#walk.restartLoopCheck();
    return (at < 32 ? (event.lo >>> at) & 1 : (event.hi >>> (at - 32)) & 1) !== 0;
  }

  #takeTarget(): number {
    const state = this.#state;
    const { event } = state;
    if (event.kind === EVENT_TIP) {
      if (event.isIpSuppressed) return FLOW_BAD_PACKET;
      const { ipLo, ipHi } = state;
      state.ipLo = event.ipLo;
      state.ipHi = event.ipHi;
      if (!this.#ticks || !hasTimeMoved(state)) return BRANCH_USES_EVENT;
      makeTick(event, ipLo, ipHi);
      return 0;
    }
    // A deferred TIP: bits for the branches behind it stand before it.
    if (event.kind !== EVENT_TNT || !this.#reader.isTipNext()) return FLOW_BAD_QUERY;
    const target = this.#scratchEvent;
    const failed = this.#reader.next(target);
    if (failed !== 0) return failed;
    if (target.isIpSuppressed) return FLOW_BAD_PACKET;
    state.ipLo = target.ipLo;
    state.ipHi = target.ipHi;
    this.#walk.restartLoopCheck();
    return 0;
  }
}

/** Is the event at hand of another time than the one before it? */
export function hasTimeMoved({ event, timeLo, timeHi }: FlowState): boolean {
  return event.timeLo !== timeLo || event.timeHi !== timeHi;
}

/** Make a branch's event tell that the time has moved on, at an address. */
export function makeTick(event: FlowEvent, ipLo: number, ipHi: number): void {
  event.kind = EVENT_TICK;
  event.isIpSuppressed = false;
  event.ipLo = ipLo;
  event.ipHi = ipHi;
}
