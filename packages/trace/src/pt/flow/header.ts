/**
 * PSB+: from PSB to PSBEND the packets say what is, in any order, not what happens. So they are read in one
 * go, and what they say is delivered at PSBEND, when the address and the time are known.
 *
 *   PSB  TSC TMA CBR  MODE.Exec MODE.TSX PIP VMCS  FUP  PSBEND
 *                     `------ status events ----'  |
 *                                  FUP: tracing is on, here; no FUP: it is off
 *
 * An OVF may end it as well.
 */
import {
  PT_IP_SUPPRESSED,
  PT_MODE_EXEC_CS_D,
  PT_MODE_EXEC_CS_L,
  PT_MODE_EXEC_IF,
} from '../packets/opcodes.ts';
import { FLAG_NON_ROOT } from '../packets/packet.ts';
import {
  isStatusKind,
  PACKET_CBR,
  PACKET_CYC,
  PACKET_FUP,
  PACKET_INVALID,
  PACKET_MNT,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_OVF,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSBEND,
  PACKET_TIP_PGE,
  PACKET_TMA,
  PACKET_TSC,
  PACKET_VMCS,
} from '../packets/packet-kinds.ts';
import {
  EVENT_ASYNC_PAGING,
  EVENT_ASYNC_VMCS,
  EVENT_CBR,
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_EXEC_MODE,
  EVENT_IFLAGS,
  EVENT_MNT,
  EVENT_TSX,
  FlowEvent,
} from './event.ts';
import { FLOW_BAD_CONTEXT, FLOW_BAD_STATUS, FLOW_TOO_MANY_EVENTS } from './flow-errors.ts';
import { executionMode } from './flow-state.ts';
import type { PacketFeed } from './packet-feed.ts';
import { AT_PSBEND } from './pending-events.ts';

const scratchEvent = new FlowEvent();

/**
 * The feed is at a PSB: read on to its PSBEND (or OVF) and leave the feed there, with the status events
 * pending. Returns 0 or a FLOW_* code; the feed is then at the packet that is wrong.
 */
export function readHeader(feed: PacketFeed): number {
  const { state } = feed;
  if (feed.hasPending) return FLOW_BAD_CONTEXT;
  state.headerOffset = state.position;
  state.clock.update(feed.packet);
  state.lastIp.reset();
  state.arePacketsEnabled = false;
  // First of all comes whether tracing is on: filled in at the end.
  const first = state.pending.add(AT_PSBEND, EVENT_DISABLED);
  if (first === null) return FLOW_TOO_MANY_EVENTS;
  first.isStatus = true;
  first.isIpSuppressed = true;
  for (;;) {
    feed.advance();
    if (feed.error !== 0) return feed.error;
    const { kind } = feed.packet;
    if (kind === PACKET_PSBEND || kind === PACKET_OVF) {
      state.clock.inHeader = false;
      if (state.arePacketsEnabled) first.kind = EVENT_ENABLED;
      // An overflow may have swallowed the FUP: nothing is known about tracing then.
      else if (kind === PACKET_OVF) state.pending.take(AT_PSBEND, scratchEvent);
      return 0;
    }
    const failed = readHeaderPacket(feed);
    if (failed !== 0) return failed;
  }
}

function readHeaderPacket(feed: PacketFeed): number {
  const { state, packet } = feed;
  switch (packet.kind) {
    case PACKET_FUP:
      state.arePacketsEnabled =
        packet.type !== PT_IP_SUPPRESSED && !(feed.errata.bdm70 && isBeforeEnable(feed));
      if (state.arePacketsEnabled) state.lastIp.update(packet);
      return 0;
    case PACKET_MODE_EXEC:
      return readHeaderMode(feed);
    case PACKET_TSC:
    case PACKET_TMA:
    case PACKET_MTC:
    case PACKET_CYC:
      state.clock.update(packet);
      return 0;
    case PACKET_PAD:
    case PACKET_INVALID:
      return 0;
  }
  const event = state.pending.add(AT_PSBEND, 0);
  if (event === null) return FLOW_TOO_MANY_EVENTS;
  event.isStatus = true;
  event.lo = packet.lo;
  event.hi = packet.hi;
  switch (packet.kind) {
    case PACKET_MODE_TSX:
      event.kind = EVENT_TSX;
      event.detail = packet.flags;
      return 0;
    case PACKET_PIP:
      event.kind = EVENT_ASYNC_PAGING;
      event.flags = packet.flags & FLAG_NON_ROOT;
      return 0;
    case PACKET_VMCS:
      event.kind = EVENT_ASYNC_VMCS;
      return 0;
    case PACKET_CBR:
      state.clock.update(packet);
      event.kind = EVENT_CBR;
      event.detail = packet.lo;
      return 0;
    case PACKET_MNT:
      // Nothing else says it again.
      event.kind = EVENT_MNT;
      event.isStatus = false;
      return 0;
    default:
      return FLOW_BAD_CONTEXT;
  }
}

function readHeaderMode(feed: PacketFeed): number {
  const { state, packet } = feed;
  const csL = (packet.flags & PT_MODE_EXEC_CS_L) !== 0;
  const csD = (packet.flags & PT_MODE_EXEC_CS_D) !== 0;
  const interrupts = (packet.flags & PT_MODE_EXEC_IF) !== 0;
  if (!state.isModeKnown) {
    state.isModeKnown = true;
    state.modeCsL = csL;
    state.modeCsD = csD;
    state.modeIf = interrupts;
  } else {
    // Without event trace not every change of the interrupt flag is told.
    if (feed.wantsInterruptFlags && state.modeIf !== interrupts) return FLOW_BAD_STATUS;
    if (state.modeCsL !== csL || state.modeCsD !== csD) return FLOW_BAD_STATUS;
  }
  const mode = state.pending.add(AT_PSBEND, EVENT_EXEC_MODE);
  if (mode === null) return FLOW_TOO_MANY_EVENTS;
  mode.isStatus = true;
  mode.detail = executionMode(csL, csD);
  if (!feed.wantsInterruptFlags) return 0;
  const flag = state.pending.add(AT_PSBEND, EVENT_IFLAGS);
  if (flag === null) return FLOW_TOO_MANY_EVENTS;
  flag.isStatus = true;
  flag.detail = interrupts ? 1 : 0;
  return 0;
}

/** Status events have the address of PSB+ and its time. */
export function completeStatus(feed: PacketFeed, event: FlowEvent): void {
  switch (event.kind) {
    case EVENT_DISABLED:
      break;
    case EVENT_CBR:
    case EVENT_MNT:
      event.isIpSuppressed = true;
      break;
    default:
      feed.setIp(event);
  }
  feed.setTime(event);
}

/** Erratum BDM70: with a TIP.PGE right behind PSB+, its FUP came too early, and tracing is still off. */
function isBeforeEnable(feed: PacketFeed): boolean {
  const cursor = feed.scan(feed.nextPosition);
  while (cursor.next() > 0) {
    const { kind } = cursor.packet;
    if (kind === PACKET_TIP_PGE) return true;
    if (kind !== PACKET_PSBEND && !isStatusKind(kind)) return false;
  }
  return false;
}

/**
 * Is there a FUP in the PSB+ whose PSB ends at `from`? 1, 0, or a FLOW_* code.
 * Its IP is left in `out.packet`.
 */
export function findHeaderFup(cursor: ReturnType<PacketFeed['scan']>): number {
  for (;;) {
    const size = cursor.next();
    if (size <= 0) return size;
    const { kind } = cursor.packet;
    if (kind === PACKET_FUP) return 1;
    if (kind === PACKET_PSBEND || kind === PACKET_OVF) return 0;
    if (kind !== PACKET_INVALID && !isStatusKind(kind)) return FLOW_BAD_CONTEXT;
  }
}
