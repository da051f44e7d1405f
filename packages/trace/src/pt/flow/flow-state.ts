import { MODE_16, MODE_32, MODE_64 } from '../../code/instructions/kinds.ts';
import { LastIp } from '../packets/last-ip.ts';
import type { TraceClock } from '../time/trace-clock.ts';
import { FlowEvent } from './event.ts';
import { PendingEvents } from './pending-events.ts';
import { ReturnStack } from './return-stack.ts';

/** No MODE.Exec packet has told the width of the code yet. */
export const MODE_UNKNOWN = -1;

/**
 * What a decoder knows between two steps. Plain fields, so that another engine can take over, consume packets
 * and give back. Values of 64 bits are int32 halves: `>>> 0` makes them unsigned.
 */
export class FlowState {
  // What the packets say.

  /** Where the packet begins that is not used up yet, PADs left out. */
  position = 0;
  /** The PSB that decoding began at; -1 before the first. */
  syncOffset = -1;
  /**
   * The PSB of the latest PSB+ that was read; -1 before the first.
   *
   * @internal
   */
  headerOffset = -1;
  /**
   * `isEnabled` as the packets have it, which are ahead of the instructions.
   *
   * @internal
   */
  arePacketsEnabled = false;
  /**
   * Part of what binds to the packet at `position` has been delivered: it must not be understood afresh.
   *
   * @internal
   */
  isPacketInProgress = false;
  /** @internal */
  readonly lastIp = new LastIp();
  /** @internal */
  readonly pending = new PendingEvents();
  /** @internal */
  readonly clock: TraceClock;
  /**
   * The latest MODE.Exec, to tell what a new one changes.
   *
   * @internal
   */
  isModeKnown = false;
  /** @internal */
  modeCsL = false;
  /** @internal */
  modeCsD = false;
  /** @internal */
  modeIf = false;

  // What has been executed.

  /** Instructions are being traced. */
  isEnabled = false;
  /** The next instruction; while tracing is off, where it may be expected to go on. */
  ipLo = 0;
  /** Upper half. */
  ipHi = 0;
  /** MODE_16, MODE_32, MODE_64 or MODE_UNKNOWN. */
  mode = MODE_UNKNOWN;
  /** In a transaction (TSX): what is executed may be undone. */
  isSpeculative = false;
  /** @internal */
  readonly returns = new ReturnStack();
  /** CR3 of the address space, uint64 in two halves. */
  cr3Lo = 0;
  /** Upper half. */
  cr3Hi = 0;
  /** A PIP packet has told it. */
  isCr3Known = false;
  /** Base address of the VMCS: which virtual machine runs; 0: none was told. */
  vmcsLo = 0;
  /** Upper half. */
  vmcsHi = 0;

  // Where the two meet.

  /** The event that is next: with EVENT_TNT the outcomes not used yet. EVENT_NONE: `status` says why. */
  readonly event = new FlowEvent();
  /** 0, or the FLOW_* code that the packets ended with. */
  status = 0;
  /** The time of the last event that was used up. */
  timeLo = 0;
  /** Upper half. */
  timeHi = 0;
  /**
   * Instructions since the last address that a trigger may count from; -1 if there is none.
   *
   * @internal
   */
  sinceAnchor = -1;

  /** @internal */
  constructor(clock: TraceClock) {
    this.clock = clock;
  }

  /**
   * As before the first synchronization; the position stays.
   *
   * @internal
   */
  reset(): void {
    this.syncOffset = -1;
    this.headerOffset = -1;
    this.resetPackets();
    this.clock.reset();
    this.isEnabled = false;
    this.ipLo = 0;
    this.ipHi = 0;
    this.mode = MODE_UNKNOWN;
    this.isSpeculative = false;
    this.returns.clear();
    this.cr3Lo = 0;
    this.cr3Hi = 0;
    this.isCr3Known = false;
    this.vmcsLo = 0;
    this.vmcsHi = 0;
    this.event.clear(0);
    this.status = 0;
    this.timeLo = 0;
    this.timeHi = 0;
    this.sinceAnchor = -1;
  }

  /**
   * What an overflow forgets: everything that packets refer back to, but not the time.
   *
   * @internal
   */
  resetPackets(): void {
    this.arePacketsEnabled = false;
    this.isPacketInProgress = false;
    this.isModeKnown = false;
    this.lastIp.reset();
    this.pending.clear();
  }
}

/** CS.L and CS.D of MODE.Exec (SDM "MODE Packets"). */
export function executionMode(csL: boolean, csD: boolean): number {
  if (csL) return csD ? MODE_UNKNOWN : MODE_64;
  return csD ? MODE_32 : MODE_16;
}
