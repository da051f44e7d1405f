/**
 * Packets to events: what belongs together is put together (a FUP and the TIP behind it are one asynchronous
 * branch), and everything comes in the order in which it applies. Knows no code.
 *
 * A packet may make several events (TIP: the branch, then the mode, then CR3) and an event may take several
 * packets (MODE.TSX, FUP). So each packet is either done with its event, or stays at hand for the next call.
 */
import { findPsb } from '../packets/find-psb.ts';
import {
  PT_MODE_EXEC_CS_D,
  PT_MODE_EXEC_CS_L,
  PT_MODE_EXEC_IF,
  PT_MODE_TSX_ABRT,
  PT_SIZE_PSB,
} from '../packets/opcodes.ts';
import { FLAG_ICNT, FLAG_IP, FLAG_MULT, FLAG_NON_ROOT } from '../packets/packet.ts';
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
  PACKET_MNT,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_MWAIT,
  PACKET_OVF,
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
import type { FlowEvent } from './event.ts';
import * as ev from './event.ts';
import { readControlFlowEvent, readEventData } from './event-trace.ts';
import {
  FLOW_BAD_CONTEXT,
  FLOW_BAD_OPCODE,
  FLOW_BAD_PACKET,
  FLOW_END,
  FLOW_TOO_MANY_EVENTS,
} from './flow-errors.ts';
import { executionMode, type FlowState } from './flow-state.ts';
import { completeStatus, readHeader } from './header.ts';
import { OVERFLOW_DELIVER, readOverflow, takeCutOff } from './overflow.ts';
import { lastIpError, type PacketFeed } from './packet-feed.ts';
import { DONE, KEEP, MORE, standalone } from './packet-outcome.ts';
import { AT_FUP, AT_OWN_FUP, AT_PSBEND, AT_TIP } from './pending-events.ts';
import { readExstop, readMwait, readPwre, staysInSleep, takeSleep } from './sleep-events.ts';

export class EventReader {
  readonly #feed: PacketFeed;
  readonly #state: FlowState;

  constructor(feed: PacketFeed) {
    this.#feed = feed;
    this.#state = feed.state;
  }

  /**
   * Begin at the next PSB at or behind the position. The state must be fresh but for the position. Returns 0;
   * FLOW_END where there is no PSB; or what is wrong with its PSB+.
   */
  synchronize(from: number): number {
    const feed = this.#feed;
    const found = findPsb(feed.bytes, from, feed.end);
    if (found < 0) {
      feed.seek(feed.end);
      return FLOW_END;
    }
    this.#state.syncOffset = found;
    feed.seek(found);
    return readHeader(feed);
  }

  /** Where to look for the next PSB, once decoding has failed. */
  get resynchronizeFrom(): number {
    const feed = this.#feed;
    const { position, syncOffset } = this.#state;
    // A damaged packet may have swallowed the beginning of a PSB.
    const isDamaged = feed.error === FLOW_BAD_OPCODE || feed.error === FLOW_BAD_PACKET;
    const from = isDamaged ? position - (PT_SIZE_PSB - 1) : position;
    return Math.max(from, syncOffset < 0 ? 0 : syncOffset + PT_SIZE_PSB);
  }

  /** The next event into `event`. Returns 0, or a FLOW_* code: FLOW_END behind the last packet. */
  next(event: FlowEvent): number {
    for (;;) {
      const outcome = this.#understand(event);
      if (outcome < 0) return outcome;
      if (outcome === KEEP) return 0;
      this.#feed.advance();
      this.#state.isPacketInProgress = false;
      if (outcome === DONE) return 0;
    }
  }

  /**
   * Would the next event be the target of an indirect branch, with nothing before it that the flow must know?
   */
  isTipNext(): boolean {
    const feed = this.#feed;
    if (feed.error !== 0 || this.#state.pending.count !== 0) return false;
    const cursor = feed.scan(this.#state.position);
    while (cursor.next() > 0) {
      switch (cursor.packet.kind) {
        case PACKET_TIP:
          return true;
        case PACKET_PAD:
        case PACKET_TSC:
        case PACKET_TMA:
        case PACKET_MTC:
        case PACKET_CYC:
        case PACKET_MODE_EXEC:
          break;
        default:
          return false;
      }
    }
    return false;
  }

  #understand(event: FlowEvent): number {
    const feed = this.#feed;
    const { pending, clock } = this.#state;
    if (feed.error !== 0) {
      // What waits for an EXSTOP is lost with it otherwise.
      return feed.error === FLOW_END && takeSleep(feed, event) ? KEEP : feed.error;
    }
    const { packet } = feed;
    if (pending.count !== 0 && !staysInSleep(packet.kind) && takeSleep(feed, event)) return KEEP;
    switch (packet.kind) {
      case PACKET_TNT8:
      case PACKET_TNT64:
        return this.#readTnt(event);
      case PACKET_TIP:
        return this.#readTip(event);
      case PACKET_FUP:
        return this.#readFup(event);
      case PACKET_TIP_PGE:
        return this.#readEnable(event);
      case PACKET_TIP_PGD:
        return this.#readDisable(event);
      case PACKET_CYC:
      case PACKET_MTC:
      case PACKET_TSC:
      case PACKET_TMA:
        clock.update(packet);
        return MORE;
      case PACKET_PAD:
      case PACKET_INVALID:
        return MORE;
      case PACKET_PSB: {
        const failed = readHeader(feed);
        this.#state.isPacketInProgress = false;
        return failed !== 0 ? failed : this.#understand(event);
      }
      case PACKET_PSBEND:
        return this.#takeStatus(event) ? KEEP : MORE;
      case PACKET_OVF: {
        if (this.#takeStatus(event) || takeCutOff(feed, event)) return KEEP;
        const outcome = readOverflow(feed, event);
        // The feed stands where it goes on already.
        return outcome < 0 ? outcome : outcome === OVERFLOW_DELIVER ? KEEP : MORE;
      }
      case PACKET_MODE_EXEC:
        return this.#readModeExec();
      case PACKET_MODE_TSX:
        return this.#readModeTsx(event);
      case PACKET_PIP:
        return this.#readPip(event);
      case PACKET_VMCS:
        return this.#readVmcs(event);
      case PACKET_CBR:
        clock.update(packet);
        event.clear(ev.EVENT_CBR);
        event.detail = packet.lo;
        return standalone(feed, event);
      case PACKET_MNT:
        event.clear(ev.EVENT_MNT);
        event.lo = packet.lo;
        event.hi = packet.hi;
        return standalone(feed, event);
      case PACKET_STOP:
        event.clear(ev.EVENT_STOP);
        return standalone(feed, event);
      case PACKET_EXSTOP:
        return readExstop(feed, event);
      case PACKET_MWAIT:
        return readMwait(feed, event);
      case PACKET_PWRE:
        return readPwre(feed, event);
      case PACKET_PWRX:
        event.clear(ev.EVENT_PWRX);
        event.detail = packet.extra;
        event.count = packet.type;
        event.flags = packet.flags;
        return standalone(feed, event);
      case PACKET_PTW:
        return this.#withOwnFup(event, ev.EVENT_PTWRITE);
      case PACKET_CFE:
        return readControlFlowEvent(feed, event);
      case PACKET_EVD:
        return readEventData(feed);
      case PACKET_TRIG:
        return this.#readTrigger(event);
      case PACKET_BBP:
      case PACKET_BIP:
        event.clear(packet.kind === PACKET_BBP ? ev.EVENT_BLOCK_BEGIN : ev.EVENT_BLOCK_ITEM);
        event.detail = packet.type;
        event.count = packet.extra;
        event.lo = packet.lo;
        event.hi = packet.hi;
        return standalone(feed, event);
      case PACKET_BEP:
        return this.#withOwnFup(event, ev.EVENT_BLOCK_END);
      default:
        return FLOW_BAD_OPCODE;
    }
  }

  /** An event that has an address where its packet says so: then a FUP brings it. */
  #withOwnFup(event: FlowEvent, kind: number): number {
    const feed = this.#feed;
    const { packet } = feed;
    const hasIp = (packet.flags & FLAG_IP) !== 0;
    const target = hasIp ? this.#state.pending.add(AT_OWN_FUP, kind) : event.clear(kind);
    if (target === null) return FLOW_TOO_MANY_EVENTS;
    target.lo = packet.lo;
    target.hi = packet.hi;
    target.count = packet.type === 0 ? 4 : 8;
    return hasIp ? MORE : standalone(feed, event);
  }

  #takeStatus(event: FlowEvent): boolean {
    if (!this.#state.pending.take(AT_PSBEND, event)) return false;
    completeStatus(this.#feed, event);
    return true;
  }

  #readTnt(event: FlowEvent): number {
    if (!this.#state.arePacketsEnabled) return FLOW_BAD_CONTEXT;
    const { packet } = this.#feed;
    event.clear(ev.EVENT_TNT);
    event.lo = packet.lo;
    event.hi = packet.hi;
    event.count = packet.type;
    this.#feed.setTime(event);
    return DONE;
  }

  #readTip(event: FlowEvent): number {
    const feed = this.#feed;
    const state = this.#state;
    if (!state.arePacketsEnabled) return FLOW_BAD_CONTEXT;
    state.lastIp.update(feed.packet);
    if (!state.isPacketInProgress) {
      // The branch comes first: what else the packet brings happens at its target.
      state.isPacketInProgress = true;
      if (state.pending.take(AT_TIP, event, ev.EVENT_ASYNC_BRANCH)) {
        event.toLo = state.lastIp.lo;
        event.toHi = state.lastIp.hi;
        event.isIpSuppressed = lastIpError(state) !== 0;
      } else {
        event.clear(ev.EVENT_TIP);
        feed.setIp(event);
      }
      feed.setTime(event);
      return KEEP;
    }
    return this.#takeBoundToTip(event, true);
  }

  /** MODE.Exec, PIP and VMCS before a TIP apply at its target. */
  #takeBoundToTip(event: FlowEvent, mayChangeSpace: boolean): number {
    while (this.#state.pending.take(AT_TIP, event)) {
      switch (event.kind) {
        case ev.EVENT_IGNORED:
          continue;
        case ev.EVENT_ASYNC_PAGING:
        case ev.EVENT_ASYNC_VMCS:
          if (!mayChangeSpace) return FLOW_BAD_CONTEXT;
          break;
        case ev.EVENT_IFLAGS:
          event.flags = ev.FLAG_BY_BRANCH;
          break;
        case ev.EVENT_EXEC_MODE:
          break;
        default:
          return FLOW_BAD_CONTEXT;
      }
      this.#feed.setIp(event);
      this.#feed.setTime(event);
      return KEEP;
    }
    return MORE;
  }

  #readEnable(event: FlowEvent): number {
    const state = this.#state;
    state.lastIp.update(this.#feed.packet);
    if (state.isPacketInProgress) return this.#takeBoundToTip(event, false);
    state.isPacketInProgress = true;
    state.arePacketsEnabled = true;
    event.clear(ev.EVENT_ENABLED);
    this.#feed.setIp(event);
    this.#feed.setTime(event);
    return KEEP;
  }

  #readDisable(event: FlowEvent): number {
    const feed = this.#feed;
    const state = this.#state;
    state.lastIp.update(feed.packet);
    while (state.pending.take(AT_TIP, event)) {
      feed.setTime(event);
      switch (event.kind) {
        case ev.EVENT_IGNORED:
          continue;
        case ev.EVENT_ASYNC_BRANCH:
          // The branch went where nothing is traced.
          event.kind = ev.EVENT_ASYNC_DISABLED;
          event.toLo = state.lastIp.lo;
          event.toHi = state.lastIp.hi;
          event.isIpSuppressed = lastIpError(state) !== 0;
          state.arePacketsEnabled = false;
          state.isPacketInProgress = true;
          return KEEP;
        case ev.EVENT_ASYNC_PAGING:
        case ev.EVENT_ASYNC_VMCS:
          if (!state.isPacketInProgress) return FLOW_BAD_CONTEXT;
          event.isIpSuppressed = true;
          return KEEP;
        case ev.EVENT_EXEC_MODE:
        case ev.EVENT_IFLAGS:
          // Where they apply is not traced any more.
          event.isIpSuppressed = true;
          return KEEP;
        default:
          return FLOW_BAD_CONTEXT;
      }
    }
    if (state.isPacketInProgress && !state.arePacketsEnabled) return MORE;
    event.clear(ev.EVENT_DISABLED);
    feed.setIp(event);
    feed.setTime(event);
    state.arePacketsEnabled = false;
    return DONE;
  }

  #readFup(event: FlowEvent): number {
    const feed = this.#feed;
    const state = this.#state;
    state.lastIp.update(feed.packet);
    if (state.pending.has(AT_OWN_FUP)) state.isPacketInProgress = true;
    while (state.pending.take(AT_FUP | AT_OWN_FUP, event)) {
      if (event.kind === ev.EVENT_IGNORED) continue;
      if (event.kind === ev.EVENT_OVERFLOW) state.arePacketsEnabled = true;
      else feed.setTime(event);
      if (event.kind === ev.EVENT_RSM || event.kind === ev.EVENT_SIPI || event.kind === ev.EVENT_PWRE)
        event.isIpSuppressed = true;
      else feed.setIp(event);
      return KEEP;
    }
    if (state.isPacketInProgress) return MORE;
    const failed = lastIpError(state);
    if (failed !== 0) return failed;
    const branch = state.pending.add(AT_TIP, ev.EVENT_ASYNC_BRANCH);
    if (branch === null) return FLOW_TOO_MANY_EVENTS;
    branch.ipLo = state.lastIp.lo;
    branch.ipHi = state.lastIp.hi;
    return MORE;
  }

  /** The execution mode and the interrupt flag are events of their own, and only where they change. */
  #readModeExec(): number {
    const feed = this.#feed;
    const state = this.#state;
    const { flags } = feed.packet;
    const csL = (flags & PT_MODE_EXEC_CS_L) !== 0;
    const csD = (flags & PT_MODE_EXEC_CS_D) !== 0;
    const interrupts = (flags & PT_MODE_EXEC_IF) !== 0;
    const before = state.pending.count;
    if (!state.isModeKnown || state.modeCsL !== csL || state.modeCsD !== csD) {
      const mode = state.pending.add(AT_TIP | AT_OWN_FUP, ev.EVENT_EXEC_MODE);
      if (mode === null) return FLOW_TOO_MANY_EVENTS;
      mode.detail = executionMode(csL, csD);
      state.modeCsL = csL;
      state.modeCsD = csD;
    }
    if (feed.wantsInterruptFlags && (!state.isModeKnown || state.modeIf !== interrupts)) {
      const flag = state.pending.add(AT_TIP | AT_OWN_FUP, ev.EVENT_IFLAGS);
      if (flag === null) return FLOW_TOO_MANY_EVENTS;
      flag.detail = interrupts ? 1 : 0;
      state.modeIf = interrupts;
    }
    // A FUP of its own comes in any case.
    if (state.pending.count === before && state.pending.add(AT_TIP | AT_OWN_FUP, ev.EVENT_IGNORED) === null)
      return FLOW_TOO_MANY_EVENTS;
    state.isModeKnown = true;
    return MORE;
  }

  #readModeTsx(event: FlowEvent): number {
    const feed = this.#feed;
    const { packet } = feed;
    const state = this.#state;
    if (!state.arePacketsEnabled) {
      event.clear(ev.EVENT_TSX);
      event.detail = packet.flags;
      return standalone(feed, event);
    }
    // An abort is an asynchronous branch as well: its FUP begins both.
    const binding = (packet.flags & PT_MODE_TSX_ABRT) !== 0 ? AT_FUP : AT_OWN_FUP;
    const waiting = state.pending.add(binding, ev.EVENT_TSX);
    if (waiting === null) return FLOW_TOO_MANY_EVENTS;
    waiting.detail = packet.flags;
    return MORE;
  }

  #readPip(event: FlowEvent): number {
    const feed = this.#feed;
    const { packet } = feed;
    const { pending } = this.#state;
    const isAsync = pending.find(AT_TIP, ev.EVENT_ASYNC_BRANCH) !== null;
    const target = isAsync ? pending.add(AT_TIP, ev.EVENT_ASYNC_PAGING) : event.clear(ev.EVENT_PAGING);
    if (target === null) return FLOW_TOO_MANY_EVENTS;
    target.lo = packet.lo;
    target.hi = packet.hi;
    target.flags = packet.flags & FLAG_NON_ROOT;
    return isAsync ? MORE : standalone(feed, event);
  }

  #readVmcs(event: FlowEvent): number {
    const feed = this.#feed;
    const { packet } = feed;
    const { pending } = this.#state;
    const paging = pending.find(AT_TIP, ev.EVENT_ASYNC_PAGING);
    if (paging === null && pending.find(AT_TIP, ev.EVENT_ASYNC_BRANCH) === null) {
      event.clear(ev.EVENT_VMCS);
      event.lo = packet.lo;
      event.hi = packet.hi;
      return standalone(feed, event);
    }
    let target = pending.add(AT_TIP, ev.EVENT_ASYNC_VMCS);
    if (target === null) return FLOW_TOO_MANY_EVENTS;
    if (paging !== null) {
      // The machine changes before its address space.
      target.copyFrom(paging);
      target = paging.clear(ev.EVENT_ASYNC_VMCS);
    }
    target.lo = packet.lo;
    target.hi = packet.hi;
    return MORE;
  }

  #readTrigger(event: FlowEvent): number {
    const { packet } = this.#feed;
    const state = this.#state;
    const hasCount = (packet.flags & FLAG_ICNT) !== 0;
    const hasIp = (packet.flags & FLAG_IP) !== 0;
    // With an address of its own there is nothing to count; while tracing is off nothing can be counted.
    if (hasIp ? !hasCount || packet.extra !== 0 : hasCount && packet.extra !== 0 && !state.arePacketsEnabled)
      return FLOW_BAD_PACKET;
    const target = hasIp ? state.pending.add(AT_OWN_FUP, ev.EVENT_TRIGGER) : event.clear(ev.EVENT_TRIGGER);
    if (target === null) return FLOW_TOO_MANY_EVENTS;
    target.vector = packet.type;
    target.flags = (packet.flags & FLAG_MULT) !== 0 ? ev.FLAG_SEVERAL : 0;
    if (hasIp) return MORE;
    target.count = hasCount ? packet.extra : 0;
    this.#feed.setTime(event);
    event.isIpSuppressed = !hasCount || !state.arePacketsEnabled;
    // The instruction to count from is the flow's to know.
    event.detail = event.isIpSuppressed ? 0 : ev.TRIGGER_WITHOUT_ANCHOR;
    return DONE;
  }
}
