import { EVENT_TNT, type FlowState } from '../flow/index.ts';

export interface JoinOptions {
  readonly useCr3?: boolean;
  readonly interruptFlags?: boolean;
}

/**
 * All that decides how decoding goes on, where `FlowDecoder.canRelease`: two decoders with equal
 * numbers do the same from there on. Not the time, which no count depends on. Null where calls are on
 * the stack: behind PSB+ there are none.
 */
export function joinState(state: FlowState, options: JoinOptions): number[] | null {
  const { event, lastIp } = state;
  if (state.returns.depth !== 0) return null;
  const isTnt = event.kind === EVENT_TNT;
  return [
    state.position,
    state.ipLo,
    state.ipHi,
    state.mode,
    Number(state.isModeKnown),
    Number(state.modeCsL),
    Number(state.modeCsD),
    options.interruptFlags === true ? Number(state.modeIf) : 0,
    Number(state.arePacketsEnabled),
    Number(state.isPacketInProgress),
    lastIp.lo,
    lastIp.hi,
    Number(lastIp.known),
    Number(lastIp.suppressed),
    state.sinceAnchor,
    options.useCr3 === true ? state.cr3Lo : 0,
    options.useCr3 === true ? state.cr3Hi : 0,
    options.useCr3 === true ? Number(state.isCr3Known) : 0,
    event.kind,
    isTnt ? event.count : Number(event.isIpSuppressed),
    isTnt ? event.lo : event.ipLo,
    isTnt ? event.hi : event.ipHi,
  ];
}
