import type { FlowEvent } from './event.ts';
import * as ev from './event.ts';
import { FLOW_BAD_CONTEXT, FLOW_BAD_STATUS, FLOW_NO_IP } from './flow-errors.ts';
import { type FlowState, MODE_UNKNOWN } from './flow-state.ts';

/**
 * Let an event happen, at the place where the flow is. Returns 0, or the FLOW_* code of what contradicts it.
 */
export function applyEvent(state: FlowState, event: FlowEvent): number {
  switch (event.kind) {
    case ev.EVENT_ENABLED:
      return applyEnabled(state, event);
    case ev.EVENT_DISABLED:
    case ev.EVENT_ASYNC_DISABLED:
      if (event.isStatus) return state.isEnabled ? FLOW_BAD_STATUS : 0;
      if (!state.isEnabled) return FLOW_BAD_CONTEXT;
      // The address stays: tracing may be expected to go on there.
      state.isEnabled = false;
      return 0;
    case ev.EVENT_ASYNC_BRANCH:
      if (!state.isEnabled) return FLOW_BAD_CONTEXT;
      if (event.isIpSuppressed) return FLOW_NO_IP;
      state.ipLo = event.toLo;
      state.ipHi = event.toHi;
      return 0;
    case ev.EVENT_PAGING:
    case ev.EVENT_ASYNC_PAGING:
      state.cr3Lo = event.lo;
      state.cr3Hi = event.hi;
      state.isCr3Known = true;
      return 0;
    case ev.EVENT_VMCS:
    case ev.EVENT_ASYNC_VMCS:
      state.vmcsLo = event.lo;
      state.vmcsHi = event.hi;
      return 0;
    case ev.EVENT_OVERFLOW:
      // Whether a transaction is open is lost; the execution mode is most likely what it was.
      state.isEnabled = !event.isIpSuppressed;
      state.ipLo = event.isIpSuppressed ? 0 : event.ipLo;
      state.ipHi = event.isIpSuppressed ? 0 : event.ipHi;
      state.isSpeculative = false;
      state.returns.clear();
      return 0;
    case ev.EVENT_EXEC_MODE:
      if (event.isStatus && state.isEnabled && state.mode !== MODE_UNKNOWN && state.mode !== event.detail)
        return FLOW_BAD_STATUS;
      state.mode = event.detail;
      return 0;
    case ev.EVENT_TSX:
      state.isSpeculative = (event.detail & ev.TSX_IN_TRANSACTION) !== 0;
      return 0;
    case ev.EVENT_STOP:
      return state.isEnabled ? FLOW_BAD_CONTEXT : 0;
    default:
      return 0;
  }
}

function applyEnabled(state: FlowState, event: FlowEvent): number {
  if (event.isStatus) {
    // The processor compresses no return whose call lies before the PSB.
    state.returns.clear();
    return state.isEnabled ? 0 : FLOW_BAD_STATUS;
  }
  if (event.isIpSuppressed) return FLOW_NO_IP;
  if (state.isEnabled) return FLOW_BAD_CONTEXT;
  event.isResumed = state.ipLo === event.ipLo && state.ipHi === event.ipHi;
  state.ipLo = event.ipLo;
  state.ipHi = event.ipHi;
  state.isEnabled = true;
  return 0;
}
