/** Errata that only the code shows. */
import type { AddressFilter } from './address-filter.ts';
import { isDirectBranch, mayHaveBogusFup } from './binding.ts';
import type { CodeWalk } from './code-walk.ts';
import { EVENT_DISABLED, type FlowEvent, TSX_ABORTED } from './event.ts';
import type { FlowState } from './flow-state.ts';

/** How far the place of an abort is looked for. */
const BDM64_STEPS = 0x100;

/**
 * SKD022: the FUP of a VM entry that ended tracing is bogus: the entry was executed.
 * True where the event was changed.
 */
export function mendVmEntry(event: FlowEvent, walk: CodeWalk): boolean {
  const entry = walk.peek(event.ipLo, event.ipHi);
  if (entry === null || !mayHaveBogusFup(entry)) return false;
  event.kind = EVENT_DISABLED;
  event.ipLo = event.toLo;
  event.ipHi = event.toHi;
  return true;
}

/**
 * BDM64: the branch right before an abort may have been told wrong. If the abort cannot
 * be reached from there, it was.
 */
export function mendAbort(state: FlowState, walk: CodeWalk): void {
  const { event } = state;
  if ((event.detail & TSX_ABORTED) === 0 || event.isIpSuppressed) return;
  if (walk.isReachable(event.ipLo, event.ipHi, BDM64_STEPS)) return;
  state.ipLo = event.ipLo;
  state.ipHi = event.ipHi;
  walk.instruction.isTaken = !walk.instruction.isTaken;
}

/**
 * SKL014: the TIP.PGD of a direct branch that leaves the filter may lack its IP.
 * Is the flow at such a branch?
 */
export function leavesFilter(state: FlowState, walk: CodeWalk, filter: AddressFilter): boolean {
  if (!filter.isConfigured || !isDirectBranch(walk.instruction.kind)) return false;
  const { ipLo, ipHi } = state;
  walk.goOn();
  const isTraced = filter.isTraced(state.ipLo, state.ipHi);
  state.ipLo = ipLo;
  state.ipHi = ipHi;
  return !isTraced;
}
