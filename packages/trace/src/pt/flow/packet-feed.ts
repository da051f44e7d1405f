import { type Errata, NO_ERRATA } from '../packets/errata.ts';
import type { Packet } from '../packets/packet.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import { PACKET_PAD } from '../packets/packet-kinds.ts';
import { requireBytes } from '../packets/require-bytes.ts';
import type { FlowEvent } from './event.ts';
import { FLOW_IP_SUPPRESSED, FLOW_NO_IP } from './flow-errors.ts';
import type { FlowOptions } from './flow-options.ts';
import type { FlowState } from './flow-state.ts';
import { AT_ANY } from './pending-events.ts';

/**
 * The packet that is next, read but not used up: `state.position` is where it begins. What reads it either
 * leaves it there, because more events come of it, or calls `advance`.
 */
export class PacketFeed {
  readonly state: FlowState;
  readonly bytes: Uint8Array;
  readonly end: number;
  readonly errata: Errata;
  readonly wantsInterruptFlags: boolean;
  readonly keepsCalibration: boolean;
  /** The packet at `state.position`; not to be looked at while `error` is not 0. */
  packet: Packet;
  /**
   * Why there is no packet: FLOW_END, FLOW_BAD_OPCODE, FLOW_BAD_PACKET (the readers' own numbers); else 0.
   */
  error = 0;
  #cursor: PacketCursor;

  constructor(bytes: Uint8Array, state: FlowState, options: FlowOptions) {
    requireBytes(bytes);
    this.bytes = bytes;
    this.end = Math.min(options.to ?? bytes.length, bytes.length);
    this.state = state;
    this.errata = options.errata ?? NO_ERRATA;
    this.wantsInterruptFlags = options.interruptFlags ?? false;
    this.keepsCalibration = options.keepCalibrationOnOverflow ?? false;
    this.#cursor = this.scan(0);
    this.packet = this.#cursor.packet;
    this.seek(Math.max(options.from ?? 0, 0));
  }

  /** Behind the packet at `state.position`. */
  get nextPosition(): number {
    return this.error === 0 ? this.#cursor.position : this.state.position;
  }

  /** Use up the packet; read the next that is not a PAD. */
  advance(): void {
    const cursor = this.#cursor;
    let size = cursor.next();
    while (size > 0 && cursor.packet.kind === PACKET_PAD) size = cursor.next();
    this.state.position = cursor.offset;
    this.error = Math.min(size, 0);
  }

  /** Read the packet at `position` next. */
  seek(position: number): void {
    this.#cursor = this.scan(position);
    this.packet = this.#cursor.packet;
    this.advance();
  }

  /** A reader of its own, to look ahead without moving this one. */
  scan(from: number): PacketCursor {
    return new PacketCursor(this.bytes, { from, to: this.end, errata: this.errata });
  }

  /** Go on to `position`, and of the packets on the way take nothing but the time. */
  skipTo(position: number): void {
    const cursor = this.scan(this.nextPosition);
    while (cursor.position < position && cursor.next() > 0) this.state.clock.update(cursor.packet);
    this.seek(position);
  }

  setTime(event: FlowEvent): void {
    const { estimate } = this.state.clock;
    event.hasTime = estimate.hasTsc;
    event.timeLo = estimate.tscLo | 0;
    event.timeHi = estimate.tscHi | 0;
  }

  /** Give an event the last IP as its address, or say that there is none. */
  setIp(event: FlowEvent): void {
    const { lastIp } = this.state;
    event.isIpSuppressed = lastIpError(this.state) !== 0;
    event.ipLo = event.isIpSuppressed ? 0 : lastIp.lo;
    event.ipHi = event.isIpSuppressed ? 0 : lastIp.hi;
  }

  /** Nothing waits that a PSB would cut in two. */
  get hasPending(): boolean {
    return this.state.pending.has(AT_ANY);
  }
}

/** 0, or why the last IP is not to be used. */
export function lastIpError(state: FlowState): number {
  if (state.lastIp.suppressed) return FLOW_IP_SUPPRESSED;
  return state.lastIp.known ? 0 : FLOW_NO_IP;
}
