import { EVENT_NONE, EVENT_TIP, EVENT_TNT } from '../flow/event.ts';
import { type FlowState, MODE_UNKNOWN } from '../flow/flow-state.ts';
import type { ReturnStack } from '../flow/return-stack.ts';
import { PT_MODE_EXEC_CS_D, PT_MODE_EXEC_CS_L, PT_MODE_EXEC_IF } from '../packets/opcodes.ts';
import type { GraphEngine } from './graph-engine.ts';
import type { HeaderState } from './plain-header.ts';

/**
 * From the exact decoder's state to the engine's and back (../flow/README.md, "Taking over"). One of it for a
 * trace that is decoded: it remembers which engine has the call stack, because most events leave the calls
 * alone and they need not be copied there and back for each.
 */
export class HandOver {
  #engine: GraphEngine | null = null;
  #fill: ((stack: ReturnStack) => void) | null = null;
  /** Where the graph could not go on: the exact decoder has to get past it first. */
  #stopPosition = -1;
  #stopOutcomes = 0;

  /** Is the graph worth asking: are outcomes or a target next, and others than it could not use before? */
  isWorthwhile(state: FlowState): boolean {
    const { kind, count } = state.event;
    if (!state.isEnabled || (kind !== EVENT_TNT && kind !== EVENT_TIP)) return false;
    // Then nothing is an instruction.
    if (state.mode === MODE_UNKNOWN) return false;
    return state.position !== this.#stopPosition || (kind === EVENT_TNT && count < this.#stopOutcomes);
  }

  /** After `adopt`: something is in the way here. */
  noteStop(state: FlowState): void {
    this.#stopPosition = state.position;
    this.#stopOutcomes = state.event.kind === EVENT_TNT ? state.event.count : 0;
  }

  /** Nothing is in the way, or other bytes are decoded from now on. */
  forgetStop(): void {
    this.#stopPosition = -1;
  }

  /** After `release`: the engine stands where the decoder stood. */
  take(engine: GraphEngine, state: FlowState): void {
    const { event } = state;
    engine.lastIp = state.lastIp;
    engine.node = engine.graph.nodeAt(state.ipLo, state.ipHi);
    if (this.#fill === null || this.#engine !== engine || !state.returns.isDeferred(this.#fill))
      engine.runner.setCalls(state.returns);
    engine.begin(state.position, event.kind === EVENT_TNT ? event.count : 0, event.lo, event.hi);
  }

  /** Before `adopt`: the decoder's state is where the engine stopped. */
  give(engine: GraphEngine, state: FlowState): void {
    const { event } = state;
    const { graph, node, isEnabled } = engine;
    state.isEnabled = isEnabled;
    state.ipLo = isEnabled ? graph.loOf(node) : engine.resumeLo;
    state.ipHi = isEnabled ? graph.hiOf(node) : engine.resumeHi;
    this.#engine = engine;
    this.#fill = (stack) => engine.runner.copyCalls(stack);
    state.returns.defer(this.#fill);
    state.position = engine.position;
    if (engine.hasNewCr3) {
      state.cr3Lo = engine.cr3Lo;
      state.cr3Hi = engine.cr3Hi;
      state.isCr3Known = true;
    }
    state.sinceAnchor = isEnabled ? 0 : -1;
    const { restCount, restLo, restHi } = engine.runner;
    event.clear(restCount > 0 ? EVENT_TNT : EVENT_NONE);
    event.count = restCount;
    event.lo = restLo;
    event.hi = restHi;
  }
}

/**
 * What a PSB+ must say to be passed over. Without `interruptFlags` nobody asks for
 * changes of the interrupt flag.
 */
export function headerOf(state: FlowState, interruptFlags = true): HeaderState {
  const modeFlags =
    (state.modeCsL ? PT_MODE_EXEC_CS_L : 0) |
    (state.modeCsD ? PT_MODE_EXEC_CS_D : 0) |
    (interruptFlags && state.modeIf ? PT_MODE_EXEC_IF : 0);
  const modeMask = PT_MODE_EXEC_CS_L | PT_MODE_EXEC_CS_D | (interruptFlags ? PT_MODE_EXEC_IF : 0);
  return {
    modeFlags: state.isModeKnown ? modeFlags : -1,
    modeMask,
    cr3Lo: state.cr3Lo,
    cr3Hi: state.cr3Hi,
  };
}
