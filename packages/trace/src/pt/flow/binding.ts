/** Which events belong to which instructions, and which to which address. */
import {
  DETAIL_ERETS,
  DETAIL_ERETU,
  DETAIL_IRET,
  DETAIL_UIRET,
  DETAIL_VMLAUNCH,
  DETAIL_VMPTRLD,
  DETAIL_VMRESUME,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_JUMP,
  KIND_MOV_CR3,
  KIND_PTWRITE,
  KIND_RETURN,
} from '../../code/instructions/index.ts';
import {
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
  EVENT_ENABLED,
  EVENT_IRET,
  EVENT_KINDS,
  EVENT_OVERFLOW,
  EVENT_PAGING,
  EVENT_PTWRITE,
  EVENT_TICK,
  EVENT_UIRET,
  EVENT_VMCS,
  EVENT_VMENTRY,
  type FlowEvent,
} from './event.ts';
import type { FlowState } from './flow-state.ts';

/** What of an instruction the binding looks at. */
export interface FlowInstruction {
  readonly kind: number;
  readonly detail: number;
}

export function isFarBranch(kind: number): boolean {
  return kind >= KIND_FAR_CALL && kind <= KIND_FAR_JUMP;
}

/** Where it goes only the trace knows. */
export function needsTrace(kind: number): boolean {
  return kind > KIND_MOV_CR3 && kind !== KIND_CALL && kind !== KIND_JUMP;
}

export function isCall(kind: number): boolean {
  return kind === KIND_CALL || kind === KIND_CALL_INDIRECT || kind === KIND_FAR_CALL;
}

export function isBranch(kind: number): boolean {
  return kind >= KIND_CALL && kind <= KIND_FAR_JUMP;
}

/** Kinds of branches by which a tick may be seen: those that a TNT bit is for. */
export function takesTntBit(kind: number): boolean {
  return kind === KIND_CONDITIONAL || kind === KIND_RETURN;
}

export function isDirectBranch(kind: number): boolean {
  return kind === KIND_CALL || kind === KIND_JUMP;
}

function isVmEntry(detail: number): boolean {
  return detail === DETAIL_VMLAUNCH || detail === DETAIL_VMRESUME;
}

/** Events that an instruction makes: each at most once for one instruction. A bit each, 0 for the others. */
const INSTRUCTION_BIT = new Uint8Array(EVENT_KINDS);
INSTRUCTION_BIT[EVENT_PAGING] = 1;
INSTRUCTION_BIT[EVENT_VMCS] = 2;
INSTRUCTION_BIT[EVENT_PTWRITE] = 4;
INSTRUCTION_BIT[EVENT_IRET] = 8;
INSTRUCTION_BIT[EVENT_VMENTRY] = 16;
INSTRUCTION_BIT[EVENT_UIRET] = 32;

export function instructionBit(eventKind: number): number {
  return INSTRUCTION_BIT[eventKind]!;
}

/** Does this instruction make events of this kind (one that `instructionBit` knows)? */
export function makesEvent(instruction: FlowInstruction, eventKind: number): boolean {
  const { kind, detail } = instruction;
  switch (eventKind) {
    case EVENT_PAGING:
      return kind === KIND_MOV_CR3 || isFarBranch(kind);
    case EVENT_VMCS:
      return detail === DETAIL_VMPTRLD || isFarBranch(kind);
    case EVENT_PTWRITE:
      return kind === KIND_PTWRITE;
    case EVENT_IRET:
      return detail === DETAIL_IRET || detail === DETAIL_ERETS || detail === DETAIL_ERETU;
    case EVENT_VMENTRY:
      return isVmEntry(detail);
    case EVENT_UIRET:
      return detail === DETAIL_UIRET;
    default:
      return false;
  }
}

/** Erratum SKD022: the FUP of a failed or traced VM entry is bogus. */
export function mayHaveBogusFup(instruction: FlowInstruction): boolean {
  return isVmEntry(instruction.detail);
}

export function isAt(state: FlowState, lo: number, hi: number): boolean {
  return state.ipLo === lo && state.ipHi === hi;
}

/** Is the flow where an event happens that has an address, not an instruction? */
export function isAtEvent(state: FlowState, event: Readonly<FlowEvent>): boolean {
  switch (event.kind) {
    case EVENT_ENABLED:
    case EVENT_OVERFLOW:
    case EVENT_TICK:
      // Wherever the flow is.
      return true;
    case EVENT_ASYNC_BRANCH:
    case EVENT_ASYNC_DISABLED:
      // What may be suppressed is where the CPU went. While tracing is off they contradict
      // it: nothing to wait for.
      return !state.isEnabled || isAt(state, event.ipLo, event.ipHi);
    default:
      return event.isIpSuppressed || !state.isEnabled || isAt(state, event.ipLo, event.ipHi);
  }
}
