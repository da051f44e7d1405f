/**
 * Event trace: CFE says what kind of event redirected the CPU, EVD before it gives
 * its data (SDM "Event Trace").
 *
 *   [EVD ...] CFE          with IP: a FUP of its own follows
 *                          without, tracing on: the FUP of the asynchronous branch that follows gives the address
 *                          without, tracing off: the event has no address
 *
 * IRET, UIRET and VM entry have no FUP: they are instructions, and the flow finds them.
 */
import { FLAG_IP } from '../packets/packet.ts';
import {
  EVENT_IGNORED,
  EVENT_INIT,
  EVENT_INTERRUPT,
  EVENT_IRET,
  EVENT_NONE,
  EVENT_RSM,
  EVENT_SHUTDOWN,
  EVENT_SIPI,
  EVENT_SMI,
  EVENT_SOFTWARE_INTERRUPT,
  EVENT_SYSTEM_CALL,
  EVENT_UINTR,
  EVENT_UIRET,
  EVENT_VMENTRY,
  EVENT_VMEXIT,
  FLAG_HAS_CR2,
  FLAG_HAS_VECTOR,
  FLAG_HAS_VMXQ,
  FLAG_HAS_VMXR,
  FlowEvent,
} from './event.ts';
import { FLOW_BAD_CONTEXT, FLOW_BAD_PACKET, FLOW_TOO_MANY_EVENTS } from './flow-errors.ts';
import type { PacketFeed } from './packet-feed.ts';
import { MORE, standalone } from './packet-outcome.ts';
import { AT_CFE, AT_FUP, AT_OWN_FUP } from './pending-events.ts';

// SDM "CFE Packet", type field.
const CFE_INTERRUPT = 1;
const CFE_IRET = 2;
const CFE_SMI = 3;
const CFE_RSM = 4;
const CFE_SIPI = 5;
const CFE_INIT = 6;
const CFE_VMENTRY = 7;
const CFE_VMEXIT = 8;
const CFE_VMEXIT_INTERRUPT = 9;
const CFE_SHUTDOWN = 10;
const CFE_UINTR = 12;
const CFE_UIRET = 13;
const CFE_SOFTWARE_INTERRUPT = 14;
const CFE_SYSTEM_CALL = 15;

// SDM "EVD Packet", type field.
const EVD_CR2 = 0;
const EVD_VMXQ = 1;
const EVD_VMXR = 2;

const KIND_BY_TYPE = new Map([
  [CFE_INTERRUPT, EVENT_INTERRUPT],
  [CFE_IRET, EVENT_IRET],
  [CFE_SMI, EVENT_SMI],
  [CFE_RSM, EVENT_RSM],
  [CFE_SIPI, EVENT_SIPI],
  [CFE_INIT, EVENT_INIT],
  [CFE_VMENTRY, EVENT_VMENTRY],
  [CFE_VMEXIT, EVENT_VMEXIT],
  [CFE_VMEXIT_INTERRUPT, EVENT_VMEXIT],
  [CFE_SHUTDOWN, EVENT_SHUTDOWN],
  [CFE_UINTR, EVENT_UINTR],
  [CFE_UIRET, EVENT_UIRET],
  [CFE_SOFTWARE_INTERRUPT, EVENT_SOFTWARE_INTERRUPT],
  [CFE_SYSTEM_CALL, EVENT_SYSTEM_CALL],
]);

const scratchData = new FlowEvent();

/**
 * The feed is at a CFE: DONE with `event` filled, where it applies at once; MORE where it waits for a FUP (or
 * is of a type that is not known, which changes nothing); or a FLOW_* code. The feed does not move.
 */
export function readControlFlowEvent(feed: PacketFeed, event: FlowEvent): number {
  const { state, packet } = feed;
  const kind = KIND_BY_TYPE.get(packet.type) ?? EVENT_NONE;
  const hasIp = (packet.flags & FLAG_IP) !== 0;
  const hasData = state.pending.take(AT_CFE, scratchData);
  if (hasData && scratchData.kind !== kind) return FLOW_BAD_CONTEXT;
  if (kind === EVENT_NONE) {
    if (!hasIp) return MORE;
    return state.pending.add(AT_OWN_FUP, EVENT_IGNORED) === null ? FLOW_TOO_MANY_EVENTS : MORE;
  }
  const neverHasIp = kind === EVENT_RSM || kind === EVENT_SIPI;
  if (hasIp && neverHasIp) return FLOW_BAD_PACKET;
  const isInstruction = kind === EVENT_IRET || kind === EVENT_UIRET || kind === EVENT_VMENTRY;
  // A shutdown ends everything: no asynchronous branch follows.
  const waits = state.arePacketsEnabled && !isInstruction && kind !== EVENT_SHUTDOWN;
  let target: FlowEvent | null = event;
  if (hasIp) target = state.pending.add(AT_OWN_FUP, kind);
  else if (waits) target = state.pending.add(AT_FUP, kind);
  if (target === null) return FLOW_TOO_MANY_EVENTS;
  if (hasData) target.copyFrom(scratchData);
  else target.clear(kind);
  target.vector = packet.extra;
  if (packet.type === CFE_VMEXIT_INTERRUPT) target.flags |= FLAG_HAS_VECTOR;
  if (target !== event) {
    target.isIpSuppressed = neverHasIp;
    return MORE;
  }
  return standalone(feed, event);
}

/** The feed is at an EVD: keep its data for the CFE that follows. MORE or a FLOW_* code. */
export function readEventData(feed: PacketFeed): number {
  const { state, packet } = feed;
  let data = state.pending.find(AT_CFE);
  switch (packet.type) {
    case EVD_CR2:
      if (data !== null) return FLOW_BAD_CONTEXT;
      data = state.pending.add(AT_CFE, EVENT_INTERRUPT);
      if (data === null) return FLOW_TOO_MANY_EVENTS;
      data.flags = FLAG_HAS_CR2;
      data.lo = packet.lo;
      data.hi = packet.hi;
      return MORE;
    case EVD_VMXQ:
    case EVD_VMXR: {
      data ??= state.pending.add(AT_CFE, EVENT_VMEXIT);
      if (data === null) return FLOW_TOO_MANY_EVENTS;
      const flag = packet.type === EVD_VMXQ ? FLAG_HAS_VMXQ : FLAG_HAS_VMXR;
      if (data.kind !== EVENT_VMEXIT || (data.flags & flag) !== 0) return FLOW_BAD_CONTEXT;
      data.flags |= flag;
      if (flag === FLAG_HAS_VMXR) {
        data.lo = packet.lo;
        data.hi = packet.hi;
      } else {
        data.lo2 = packet.lo;
        data.hi2 = packet.hi;
      }
      return MORE;
    }
    default:
      return MORE;
  }
}
