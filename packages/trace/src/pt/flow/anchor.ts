/** Where triggers count instructions from. */
import { isAt } from './binding.ts';
import type { FlowEvent } from './event.ts';
import * as ev from './event.ts';
import { FLOW_BAD_PACKET } from './flow-errors.ts';
import type { FlowState } from './flow-state.ts';

/** Kinds that have an address only sometimes, and then nothing more to say where a trigger counts from. */
const NEVER_ANCHORS = new Set([
  ev.EVENT_PAGING,
  ev.EVENT_SIPI,
  ev.EVENT_CBR,
  ev.EVENT_MNT,
  ev.EVENT_STOP,
  ev.EVENT_VMCS,
  ev.EVENT_MWAIT,
  ev.EVENT_PWRE,
  ev.EVENT_PWRX,
]);

/**
 * A trigger without an address counts instructions from the last address that a
 * packet gave: is it this event's?
 */
export function noteAnchor(state: FlowState, event: Readonly<FlowEvent>): void {
  const { kind } = event;
  if (kind === ev.EVENT_DISABLED || kind === ev.EVENT_ASYNC_DISABLED) state.sinceAnchor = -1;
  else if (kind === ev.EVENT_OVERFLOW) state.sinceAnchor = event.isIpSuppressed ? -1 : 0;
  else if (
    kind === ev.EVENT_TIP ||
    kind === ev.EVENT_TNT ||
    kind === ev.EVENT_ENABLED ||
    kind === ev.EVENT_ASYNC_BRANCH
  )
    state.sinceAnchor = 0;
  else if (!event.isIpSuppressed && !NEVER_ANCHORS.has(kind)) state.sinceAnchor = 0;
}

/**
 * A trigger is the event at hand, and counts instructions from an address: 1 where all
 * are counted, 0 or a FLOW_* code.
 */
export function isTriggerDue(state: FlowState): number {
  const { event } = state;
  if (event.isIpSuppressed || !state.isEnabled) return 1;
  if (event.detail === ev.TRIGGER_WITHOUT_ANCHOR) {
    if (state.sinceAnchor < 0 || event.count < state.sinceAnchor) return FLOW_BAD_PACKET;
    event.detail = 0;
    event.count -= state.sinceAnchor;
    event.ipLo = state.ipLo;
    event.ipHi = state.ipHi;
  }
  return event.count === 0 && isAt(state, event.ipLo, event.ipHi) ? 1 : 0;
}
