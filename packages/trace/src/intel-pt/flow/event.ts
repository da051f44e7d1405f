/** What packets mean together: one event each, in the order in which they apply. */

export const EVENT_NONE = 0;
/**
 * Outcomes of conditional branches and compressed returns: `lo`, `hi` with the
 * oldest highest, `count` of them.
 */
export const EVENT_TNT = 1;
/** Target of an indirect branch: `ip`. */
export const EVENT_TIP = 2;
/** The time has moved on with a branch: made by the flow, not by a packet of its own. */
export const EVENT_TICK = 3;
export const EVENT_ENABLED = 4;
/** Tracing went off with an instruction; `ip`, where it is known, is where that instruction went. */
export const EVENT_DISABLED = 5;
/**
 * Tracing went off between two instructions, before the one at `ip`; `to`, where
 * known, is where the CPU went.
 */
export const EVENT_ASYNC_DISABLED = 6;
/** An interrupt or the like, before the instruction at `ip`, to `to`. */
export const EVENT_ASYNC_BRANCH = 7;
/** CR3 (`lo`, `hi`) written by an instruction to be found. */
export const EVENT_PAGING = 8;
/** CR3 as part of an asynchronous branch to `ip`, or as PSB+ tells it. */
export const EVENT_ASYNC_PAGING = 9;
export const EVENT_VMCS = 10;
export const EVENT_ASYNC_VMCS = 11;
/** Packets were lost; goes on at `ip`, or with tracing off. */
export const EVENT_OVERFLOW = 12;
/** `detail`: the mode. */
export const EVENT_EXEC_MODE = 13;
/** `detail`: bit 0 in a transaction, bit 1 aborted. */
export const EVENT_TSX = 14;
export const EVENT_STOP = 15;
export const EVENT_EXSTOP = 16;
/** `lo` hints, `hi` extensions. */
export const EVENT_MWAIT = 17;
/** `detail` C-state, `count` sub-state, FLAG_BY_HARDWARE. */
export const EVENT_PWRE = 18;
/** `detail` the last C-state, `count` the deepest, `flags` the packet's reason. */
export const EVENT_PWRX = 19;
/** `lo`, `hi`: the operand. */
export const EVENT_PTWRITE = 20;
/** `detail`: the ratio. */
export const EVENT_CBR = 21;
export const EVENT_MNT = 22;
/** `detail`: interrupts are enabled. */
export const EVENT_IFLAGS = 23;
/** `vector`; with FLAG_HAS_CR2 the faulting address in `lo`, `hi`. */
export const EVENT_INTERRUPT = 24;
export const EVENT_IRET = 25;
export const EVENT_SMI = 26;
export const EVENT_RSM = 27;
export const EVENT_SIPI = 28;
export const EVENT_INIT = 29;
export const EVENT_VMENTRY = 30;
/** With FLAG_HAS_VECTOR `vector`; FLAG_HAS_VMXR `lo`, `hi`; FLAG_HAS_VMXQ `lo2`, `hi2`. */
export const EVENT_VMEXIT = 31;
export const EVENT_SHUTDOWN = 32;
export const EVENT_UINTR = 33;
export const EVENT_UIRET = 34;
/** INT n and the like, `vector`. */
export const EVENT_SOFTWARE_INTERRUPT = 35;
/** A trigger fired: `vector` its bits, FLAG_SEVERAL, `count` instructions behind `ip` still to go. */
export const EVENT_TRIGGER = 36;
/**
 * A PEBS record begins: `detail` its group, `count` bytes an item; items `detail`: `lo`, `hi`; and its end.
 */
export const EVENT_BLOCK_BEGIN = 37;
export const EVENT_BLOCK_ITEM = 38;
export const EVENT_BLOCK_END = 39;
/** SYSCALL or SYSENTER, where the processor delivers it as an event (FRED). */
export const EVENT_SYSTEM_CALL = 40;
/** Takes the place of a packet that changes nothing but has a FUP or TIP of its own; never delivered. */
export const EVENT_IGNORED = 41;
export const EVENT_KINDS = 42;

export const FLAG_BY_HARDWARE = 1;
export const FLAG_HAS_VECTOR = 1;
export const FLAG_HAS_CR2 = 2;
export const FLAG_HAS_VMXR = 4;
export const FLAG_HAS_VMXQ = 8;
export const FLAG_SEVERAL = 1;
/**
 * Of EVENT_IFLAGS: the branch before it made the change, which holds at its target. Else
 * the instruction before it did.
 */
export const FLAG_BY_BRANCH = 1;
export const TSX_IN_TRANSACTION = 1;
export const TSX_ABORTED = 2;
/** `detail` of a trigger whose `ip` the flow must still fill in. */
export const TRIGGER_WITHOUT_ANCHOR = 1;

export class FlowEvent {
  kind = EVENT_NONE;
  /** From PSB+: says what is, not what happens. */
  isStatus = false;
  /** `ip` is not known (`to`, for the two kinds that have one). */
  isIpSuppressed = false;
  /**
   * The packet with its address was lost in an overflow: it is told where the flow is,
   * not looked for in the code.
   */
  isCutOff = false;
  /** Tracing goes on where it stopped. */
  isResumed = false;
  hasTime = false;
  /** TSC, uint64 in two int32 halves, like every address here. */
  timeLo = 0;
  timeHi = 0;
  ipLo = 0;
  ipHi = 0;
  toLo = 0;
  toHi = 0;
  lo = 0;
  hi = 0;
  lo2 = 0;
  hi2 = 0;
  count = 0;
  detail = 0;
  vector = 0;
  flags = 0;

  clear(kind: number): this {
    this.kind = kind;
    this.isStatus = false;
    this.isIpSuppressed = false;
    this.isCutOff = false;
    this.isResumed = false;
    this.hasTime = false;
    this.timeLo = 0;
    this.timeHi = 0;
    this.ipLo = 0;
    this.ipHi = 0;
    this.toLo = 0;
    this.toHi = 0;
    this.lo = 0;
    this.hi = 0;
    this.lo2 = 0;
    this.hi2 = 0;
    this.count = 0;
    this.detail = 0;
    this.vector = 0;
    this.flags = 0;
    return this;
  }

  copyFrom(other: Readonly<FlowEvent>): this {
    this.kind = other.kind;
    this.isStatus = other.isStatus;
    this.isIpSuppressed = other.isIpSuppressed;
    this.isCutOff = other.isCutOff;
    this.isResumed = other.isResumed;
    this.hasTime = other.hasTime;
    this.timeLo = other.timeLo;
    this.timeHi = other.timeHi;
    this.ipLo = other.ipLo;
    this.ipHi = other.ipHi;
    this.toLo = other.toLo;
    this.toHi = other.toHi;
    this.lo = other.lo;
    this.hi = other.hi;
    this.lo2 = other.lo2;
    this.hi2 = other.hi2;
    this.count = other.count;
    this.detail = other.detail;
    this.vector = other.vector;
    this.flags = other.flags;
    return this;
  }
}
