/**
 * Going to sleep: MWAIT [PWRE] EXSTOP. In the order of what happens, and with the address of the EXSTOP where
 * it has one: the MWAIT, the stop, the state that was entered.
 */
import { FLAG_HW, FLAG_IP } from '../packets/packet.ts';
import {
  PACKET_CBR,
  PACKET_CYC,
  PACKET_EXSTOP,
  PACKET_MNT,
  PACKET_MTC,
  PACKET_MWAIT,
  PACKET_PAD,
  PACKET_PWRE,
  PACKET_TMA,
  PACKET_TSC,
} from '../packets/packet-kinds.ts';
import { EVENT_EXSTOP, EVENT_MWAIT, EVENT_PWRE, type FlowEvent } from './event.ts';
import { FLOW_TOO_MANY_EVENTS } from './flow-errors.ts';
import type { PacketFeed } from './packet-feed.ts';
import { KEEP, MORE, standalone } from './packet-outcome.ts';
import { AT_EXSTOP, AT_OWN_FUP } from './pending-events.ts';

/** Packets that may stand between MWAIT or PWRE and their EXSTOP; any other ends the wait. */
export function staysInSleep(kind: number): boolean {
  switch (kind) {
    case PACKET_PAD:
    case PACKET_TSC:
    case PACKET_TMA:
    case PACKET_MTC:
    case PACKET_CYC:
    case PACKET_CBR:
    case PACKET_MNT:
    case PACKET_MWAIT:
    case PACKET_PWRE:
    case PACKET_EXSTOP:
      return true;
    default:
      return false;
  }
}

export function readMwait(feed: PacketFeed, event: FlowEvent): number {
  const { packet } = feed;
  if (takeSleep(feed, event)) return KEEP;
  const waiting = feed.state.pending.add(AT_EXSTOP, EVENT_MWAIT);
  if (waiting === null) return FLOW_TOO_MANY_EVENTS;
  waiting.lo = packet.lo;
  waiting.hi = packet.hi;
  return MORE;
}

export function readPwre(feed: PacketFeed, event: FlowEvent): number {
  const { packet } = feed;
  const { pending } = feed.state;
  if (pending.find(AT_EXSTOP, EVENT_PWRE) !== null && takeSleep(feed, event)) return KEEP;
  const waiting = pending.add(AT_EXSTOP, EVENT_PWRE);
  if (waiting === null) return FLOW_TOO_MANY_EVENTS;
  waiting.detail = packet.type;
  waiting.count = packet.extra;
  waiting.flags = packet.flags & FLAG_HW;
  return MORE;
}

export function readExstop(feed: PacketFeed, event: FlowEvent): number {
  const { pending } = feed.state;
  const hasIp = (feed.packet.flags & FLAG_IP) !== 0;
  if (!hasIp) {
    if (pending.find(AT_EXSTOP)?.kind === EVENT_MWAIT && takeSleep(feed, event)) return KEEP;
    // The PWRE, if there is one, follows as soon as another packet comes.
    return standalone(feed, event.clear(EVENT_EXSTOP));
  }
  if (pending.take(AT_EXSTOP, event, EVENT_MWAIT)) {
    const mwait = pending.add(AT_OWN_FUP, EVENT_MWAIT);
    if (mwait === null) return FLOW_TOO_MANY_EVENTS;
    mwait.copyFrom(event);
  }
  if (pending.add(AT_OWN_FUP, EVENT_EXSTOP) === null) return FLOW_TOO_MANY_EVENTS;
  if (pending.take(AT_EXSTOP, event, EVENT_PWRE)) {
    const entered = pending.add(AT_OWN_FUP, EVENT_PWRE);
    if (entered === null) return FLOW_TOO_MANY_EVENTS;
    entered.copyFrom(event);
  }
  return MORE;
}

/** What waits for an EXSTOP that does not come, without an address. */
export function takeSleep(feed: PacketFeed, event: FlowEvent): boolean {
  if (!feed.state.pending.take(AT_EXSTOP, event)) return false;
  event.isIpSuppressed = true;
  feed.setTime(event);
  return true;
}
