/**
 * OVF: packets were lost. What follows tells how it goes on:
 *
 *   OVF [time] FUP          tracing is on, at the FUP's address
 *   OVF [time] TIP.PGE ...  tracing is off until there
 *   OVF [time] PSB+         as PSB+ says; and so on with any packet that does not need tracing
 *
 * What still waited for the packet with its address did happen: it is told first, without one.
 *
 * Three errata break this, and are mended by looking further ahead (none of it moves
 * the feed before it is decided):
 *
 *   SKD010   the FUP is missing: tracing may be on after all
 *   APL11    a TIP.PGD follows that should have been swallowed
 *   APL12    a FUP follows although tracing is off
 */

import { FLAG_IP } from '../packets/packet.ts';
import {
  PACKET_BBP,
  PACKET_BEP,
  PACKET_BIP,
  PACKET_CBR,
  PACKET_CFE,
  PACKET_CYC,
  PACKET_EVD,
  PACKET_EXSTOP,
  PACKET_FUP,
  PACKET_INVALID,
  PACKET_KINDS,
  PACKET_MNT,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_MWAIT,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_PTW,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_STOP,
  PACKET_TIP,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TRIG,
  PACKET_TSC,
  PACKET_VMCS,
} from '../packets/packet-kinds.ts';
import {
  EVENT_ASYNC_BRANCH,
  EVENT_IGNORED,
  EVENT_OVERFLOW,
  EVENT_PWRE,
  EVENT_TSX,
  type FlowEvent,
} from './event.ts';
import { FLOW_BAD_CONTEXT, FLOW_END, FLOW_TOO_MANY_EVENTS } from './flow-errors.ts';
import { findHeaderFup } from './header.ts';
import type { PacketFeed } from './packet-feed.ts';
import { AT_FUP, AT_OWN_FUP, AT_TIP } from './pending-events.ts';

/** The event is there; the feed stands where it goes on. */
export const OVERFLOW_DELIVER = 1;
/** The event waits for the FUP that follows. */
export const OVERFLOW_WAIT = 0;

const NOT_MENDED = 2;

function kinds(...list: number[]): Uint8Array {
  const table = new Uint8Array(PACKET_KINDS);
  for (const kind of list) table[kind] = 1;
  return table;
}

const IS_BRANCH = kinds(PACKET_TIP, PACKET_TIP_PGD, PACKET_TNT8, PACKET_TNT64);
/** May stand between OVF and its FUP. */
const IS_TIMING = kinds(
  PACKET_PAD,
  PACKET_MNT,
  PACKET_CBR,
  PACKET_TSC,
  PACKET_TMA,
  PACKET_MTC,
  PACKET_CYC,
  PACKET_INVALID,
);
/** Says nothing about whether tracing is on. */
const APL12_SAYS_NOTHING = kinds(
  PACKET_PAD,
  PACKET_FUP,
  PACKET_TSC,
  PACKET_CBR,
  PACKET_TMA,
  PACKET_MTC,
  PACKET_CYC,
  PACKET_EXSTOP,
  PACKET_MWAIT,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_PTW,
  PACKET_MNT,
  PACKET_PIP,
  PACKET_VMCS,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_CFE,
  PACKET_EVD,
  PACKET_TRIG,
  PACKET_BBP,
  PACKET_BIP,
  PACKET_BEP,
);
const SKD010_SAYS_NOTHING = kinds(
  PACKET_PAD,
  PACKET_MNT,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_EVD,
  PACKET_TRIG,
  PACKET_TSC,
  PACKET_CBR,
  PACKET_TMA,
  PACKET_MTC,
  PACKET_CYC,
  PACKET_PIP,
  PACKET_VMCS,
  PACKET_MODE_EXEC,
  PACKET_BBP,
  PACKET_BIP,
);
const APL11_SAYS_NOTHING = kinds(
  PACKET_TSC,
  PACKET_CBR,
  PACKET_TMA,
  PACKET_MTC,
  PACKET_CYC,
  PACKET_PAD,
  PACKET_MNT,
  PACKET_CFE,
  PACKET_EVD,
  PACKET_TRIG,
);

/**
 * The feed is at an OVF: the next event whose FUP or TIP was lost. Of a power session the state goes first:
 * it waits for no address, only for its turn. An asynchronous branch is not told: where it went is not
 * known. False where none is left.
 */
export function takeCutOff(feed: PacketFeed, event: FlowEvent): boolean {
  const { pending } = feed.state;
  if (!pending.take(AT_OWN_FUP, event, EVENT_PWRE))
    do if (!pending.take(AT_FUP | AT_OWN_FUP | AT_TIP, event)) return false;
    while (event.kind === EVENT_IGNORED || event.kind === EVENT_ASYNC_BRANCH);
  event.isIpSuppressed = true;
  event.isCutOff = true;
  feed.setTime(event);
  return true;
}

/**
 * The feed is at an OVF: fill `event`, or leave it pending. OVERFLOW_DELIVER, OVERFLOW_WAIT or a FLOW_* code.
 */
export function readOverflow(feed: PacketFeed, event: FlowEvent): number {
  const { state, errata } = feed;
  state.resetPackets();
  if (feed.keepsCalibration) state.clock.calibration.overflow();
  else state.clock.update(feed.packet);
  const behindFup = findFup(feed);
  if (behindFup > 0) {
    if (errata.apl12 && isDisabledAfter(feed, behindFup)) {
      feed.skipTo(behindFup);
      return deliverDisabled(feed, event);
    }
    const waiting = state.pending.add(AT_OWN_FUP, EVENT_OVERFLOW);
    if (waiting === null) return FLOW_TOO_MANY_EVENTS;
    // The time of the loss: with that of the next event it says how long it lasted.
    feed.setTime(waiting);
    return OVERFLOW_WAIT;
  }
  if (errata.skd010) {
    const mended = mendMissingFup(feed, event);
    if (mended !== NOT_MENDED) return mended;
  }
  if (errata.apl11 && behindFup === FLOW_BAD_CONTEXT) {
    const mended = mendExtraDisable(feed, event);
    if (mended !== NOT_MENDED) return mended;
  }
  if (behindFup < 0 && behindFup !== FLOW_END) return behindFup;
  feed.advance();
  return deliverDisabled(feed, event);
}

function deliverDisabled(feed: PacketFeed, event: FlowEvent): number {
  event.clear(EVENT_OVERFLOW);
  event.isIpSuppressed = true;
  feed.setTime(event);
  return OVERFLOW_DELIVER;
}

/** Behind the FUP that says where it goes on; 0 where tracing is off; or a FLOW_* code. */
function findFup(feed: PacketFeed): number {
  const cursor = feed.scan(feed.nextPosition);
  for (;;) {
    const size = cursor.next();
    if (size <= 0) return size;
    const { kind } = cursor.packet;
    if (kind === PACKET_FUP) return cursor.position;
    if (IS_BRANCH[kind] !== 0 || kind === PACKET_PSBEND) return FLOW_BAD_CONTEXT;
    if (IS_TIMING[kind] === 0) return 0;
  }
}

/** APL12: what follows the FUP shows that tracing is off. */
function isDisabledAfter(feed: PacketFeed, behindFup: number): boolean {
  const cursor = feed.scan(behindFup);
  while (cursor.next() > 0) {
    const { kind } = cursor.packet;
    if (kind === PACKET_TIP_PGE || kind === PACKET_STOP) return true;
    if (kind === PACKET_PSB) return findHeaderFup(cursor) === 0;
    if (APL12_SAYS_NOTHING[kind] === 0) return false;
  }
  return false;
}

/** SKD010: go on at the first address that shows that tracing is on. */
function mendMissingFup(feed: PacketFeed, event: FlowEvent): number {
  const { state } = feed;
  const cursor = feed.scan(feed.nextPosition);
  let transaction = -1;
  while (cursor.next() > 0) {
    const { packet } = cursor;
    const at = cursor.offset;
    switch (packet.kind) {
      case PACKET_TIP_PGD:
        deliverDisabled(feed, event);
        feed.skipTo(cursor.position);
        return OVERFLOW_DELIVER;
      case PACKET_MODE_TSX:
        // It needs a FUP while tracing is on, and none while it is off: two in a row cannot be.
        if (transaction >= 0) return NOT_MENDED;
        transaction = packet.flags;
        break;
      case PACKET_FUP:
      case PACKET_TIP: {
        const isFup = packet.kind === PACKET_FUP;
        const behind = cursor.position;
        resumeAt(feed, event, packet);
        if (isFup && transaction >= 0) {
          const waiting = state.pending.add(AT_OWN_FUP, EVENT_TSX);
          if (waiting === null) return FLOW_TOO_MANY_EVENTS;
          waiting.detail = transaction;
        }
        feed.skipTo(isFup ? at : behind);
        return OVERFLOW_DELIVER;
      }
      case PACKET_PSB:
        if (findHeaderFup(cursor) !== 1) return NOT_MENDED;
        resumeAt(feed, event, packet);
        feed.skipTo(at);
        return OVERFLOW_DELIVER;
      case PACKET_EXSTOP:
      case PACKET_PTW:
      case PACKET_CFE:
      case PACKET_BEP:
        if ((packet.flags & FLAG_IP) !== 0) return NOT_MENDED;
        break;
      default:
        if (SKD010_SAYS_NOTHING[packet.kind] === 0) return NOT_MENDED;
    }
  }
  return NOT_MENDED;
}

/** Fill in an overflow that goes on with tracing, at the address of `packet`. */
function resumeAt(
  feed: PacketFeed,
  event: FlowEvent,
  packet: Parameters<typeof feed.state.lastIp.update>[0],
): void {
  const { state } = feed;
  event.clear(EVENT_OVERFLOW);
  feed.setTime(event);
  state.lastIp.update(packet);
  feed.setIp(event);
  state.arePacketsEnabled = true;
}

/** APL11: a TIP.PGD that belongs to what was lost. */
function mendExtraDisable(feed: PacketFeed, event: FlowEvent): number {
  const cursor = feed.scan(feed.nextPosition);
  while (cursor.next() > 0) {
    const { kind } = cursor.packet;
    if (kind === PACKET_TIP_PGD) {
      deliverDisabled(feed, event);
      feed.skipTo(cursor.position);
      return OVERFLOW_DELIVER;
    }
    if (APL11_SAYS_NOTHING[kind] === 0) return NOT_MENDED;
  }
  return NOT_MENDED;
}
