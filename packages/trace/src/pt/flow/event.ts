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
/** Tracing begins, or goes on, at `ip`. `isResumed`: where it went off. */
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
/** The VMCS (`lo`, `hi`: its base address) was set by an instruction to be found: another virtual machine. */
export const EVENT_VMCS = 10;
/** VMCS as part of an asynchronous branch to `ip`, or as PSB+ tells it. */
export const EVENT_ASYNC_VMCS = 11;
/** Packets were lost; goes on at `ip`, or with tracing off. */
export const EVENT_OVERFLOW = 12;
/** `detail`: the mode. */
export const EVENT_EXEC_MODE = 13;
/** `detail`: bit 0 in a transaction, bit 1 aborted. */
export const EVENT_TSX = 14;
/** Tracing stopped: execution came to a range that stops it (TraceStop). */
export const EVENT_STOP = 15;
/** The core stopped executing, at `ip` where it is known: for a power state, or to change its frequency. */
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
/** `lo`, `hi`: what a maintenance packet says; it depends on the processor. */
export const EVENT_MNT = 22;
/** `detail`: interrupts are enabled (1) or not (0). FLAG_BY_BRANCH says which instruction did it. */
export const EVENT_IFLAGS = 23;
/**
 * Of event trace, as the following to EVENT_UIRET: an interrupt or exception. `vector`; with FLAG_HAS_CR2 the
 * faulting address in `lo`, `hi`.
 */
export const EVENT_INTERRUPT = 24;
/** An IRET, at `ip`. */
export const EVENT_IRET = 25;
/** A system management interrupt. */
export const EVENT_SMI = 26;
/** The return from one (RSM). */
export const EVENT_RSM = 27;
/** A start-up message to the processor (SIPI); `vector` is the page it begins at. */
export const EVENT_SIPI = 28;
/** An INIT signal. */
export const EVENT_INIT = 29;
/** A VM entry, at `ip`: on into a guest. */
export const EVENT_VMENTRY = 30;
/** With FLAG_HAS_VECTOR `vector`; FLAG_HAS_VMXR `lo`, `hi`; FLAG_HAS_VMXQ `lo2`, `hi2`. */
export const EVENT_VMEXIT = 31;
/** The processor shut down, as after a triple fault. */
export const EVENT_SHUTDOWN = 32;
/** A user interrupt; `vector`. */
export const EVENT_UINTR = 33;
/** The return from one (UIRET), at `ip`. */
export const EVENT_UIRET = 34;
/** INT n and the like, `vector`. */
export const EVENT_SOFTWARE_INTERRUPT = 35;
/** A trigger fired: `vector` its bits, FLAG_SEVERAL, `count` instructions behind `ip` still to go. */
export const EVENT_TRIGGER = 36;
/** A PEBS record begins: `detail` is its group, `count` the bytes of an item. */
export const EVENT_BLOCK_BEGIN = 37;
/** An item of that record: `detail` says which, `lo` and `hi` its value. */
export const EVENT_BLOCK_ITEM = 38;
/** That record ends, at `ip`, where it is known. */
export const EVENT_BLOCK_END = 39;
/** SYSCALL or SYSENTER, where the processor delivers it as an event (FRED). */
export const EVENT_SYSTEM_CALL = 40;
/** Takes the place of a packet that changes nothing but has a FUP or TIP of its own; never delivered. */
export const EVENT_IGNORED = 41;
export const EVENT_KINDS = 42;

/** `flags` of EVENT_PWRE: the hardware chose the state, not the MWAIT. */
export const FLAG_BY_HARDWARE = 1;
/** `flags` of EVENT_VMEXIT: `vector` is that of the interrupt that made it. */
export const FLAG_HAS_VECTOR = 1;
/** `flags` of EVENT_INTERRUPT: `lo` and `hi` are the address of the page fault (CR2). */
export const FLAG_HAS_CR2 = 2;
/** `flags` of EVENT_VMEXIT: `lo` and `hi` are its reason. */
export const FLAG_HAS_VMXR = 4;
/** `flags` of EVENT_VMEXIT: `lo2` and `hi2` are its qualification. */
export const FLAG_HAS_VMXQ = 8;
/** `flags` of EVENT_TRIGGER: several came together. */
export const FLAG_SEVERAL = 1;
/**
 * Of EVENT_IFLAGS: the branch before it made the change, which holds at its target. Else
 * the instruction before it did.
 */
export const FLAG_BY_BRANCH = 1;
/** Bit of `detail` of EVENT_TSX: in a transaction from here on. */
export const TSX_IN_TRANSACTION = 1;
/** Bit of `detail` of EVENT_TSX: a transaction was aborted. Neither bit: it was committed. */
export const TSX_ABORTED = 2;
/** `detail` of a trigger whose `ip` the flow must still fill in. */
export const TRIGGER_WITHOUT_ANCHOR = 1;

/**
 * An event of a trace. The EVENT_* constant of its kind says which fields mean something. Borrowed: the next
 * step overwrites it; `copyFrom` keeps it.
 */
export class FlowEvent {
  /** One of EVENT_*. */
  kind = EVENT_NONE;
  /** From PSB+: says what is, not what happens. */
  isStatus = false;
  /** `ip` is not known; for the two kinds that have `to`, that is not. */
  isIpSuppressed = false;
  /**
   * The packet with its address was lost in an overflow: it is told where the flow is,
   * not looked for in the code.
   */
  isCutOff = false;
  /** Tracing goes on where it stopped. */
  isResumed = false;
  /** `timeLo` and `timeHi` are a TSC; else only distances between them mean something. */
  hasTime = false;
  /** TSC: 64 bits unsigned in two int32 halves, like every address here: `>>> 0` makes them unsigned. */
  timeLo = 0;
  /** Upper half. */
  timeHi = 0;
  /** Where it happened, or what its kind says. */
  ipLo = 0;
  /** Upper half. */
  ipHi = 0;
  /** Where the processor went: EVENT_ASYNC_BRANCH and EVENT_ASYNC_DISABLED. */
  toLo = 0;
  /** Upper half. */
  toHi = 0;
  /** A value, by kind. */
  lo = 0;
  /** Upper half. */
  hi = 0;
  /** A second value: of EVENT_VMEXIT. */
  lo2 = 0;
  /** Upper half. */
  hi2 = 0;
  /** A number, by kind. */
  count = 0;
  /** What of its kind it is: a mode, a state, a ratio. */
  detail = 0;
  /** Number of the interrupt, or what its kind says. */
  vector = 0;
  /** Bits: FLAG_*, or PT_PWRX_* for EVENT_PWRX. */
  flags = 0;

  /** @internal */
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

  /** Take over every field of another. */
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
