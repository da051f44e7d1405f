import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import {
  ptraceSetSignalMask,
  ptraceSignalMask,
  readTargetMemory,
  writeTargetMemory,
} from '../../kernel/sys/index.ts';

const { SIGTRAP } = constants.signals;
/** SIGTRAP in the first byte of a set of signals. */
const TRAP_BIT = 1 << (SIGTRAP - 1);
const SIG_IGN = 1;

/** Calls of 64-bit code. */
const RT_SIGACTION = 13;
const RT_SIGPROCMASK = 14;
const RT_SIGRETURN = 15;
const SIG_BLOCK = 0;
const SIG_UNBLOCK = 1;
/** They return while other signals are blocked than before, or were: pselect6, ppoll, epoll_pwait, ... */
const MASK_CALLS: ReadonlySet<number> = /* @__PURE__ */ new Set([
  RT_SIGPROCMASK,
  RT_SIGRETURN,
  130,
  270,
  271,
  281,
  333,
  441,
]);
/** How many handlers are remembered: those that were left by longjmp never return. */
const MOST_HANDLERS = 64;

type CallArguments = readonly [number, number, number];

interface ThreadTraps {
  /** The thread believes that it blocks SIGTRAP. */
  isBlocked: boolean;
  /** What it believed when each handler that is running was entered. */
  readonly beforeHandlers: boolean[];
  /** One came that waits until it unblocks. */
  isHeldBack: boolean;
  /** What the call that it makes will have it believe. */
  wish: boolean;
}

/**
 * The trap after each step is a SIGTRAP that the kernel forces: where a thread blocks or ignores it, the
 * kernel unblocks it and takes the program's handler away for good. So it is never really blocked while we
 * step: this keeps what the thread believes, answers its questions so, and holds back its own SIGTRAPs.
 */
export class TrapSignal {
  readonly #threads = new Map<number, ThreadTraps>();
  /** Processes that ignore SIGTRAP, as they believe. */
  readonly #ignoring = new Set<number>();

  /** Before the first of all steps of a thread that nobody of ours has started. */
  attach(tid: number): void {
    const ignored = /^SigIgn:\t([0-9a-f]+)/m.exec(statusOf(tid))?.[1] ?? '0';
    if ((Number.parseInt(ignored.slice(-2), 16) & TRAP_BIT) !== 0) this.#ignoring.add(processOf(tid));
    this.#of(tid).isBlocked = unblock(tid);
  }

  inherit(tid: number, parent: number): void {
    if (this.#threads.has(tid)) return;
    this.#of(tid).isBlocked = this.#of(parent).isBlocked;
    if (this.#ignoring.size > 0 && this.#ignoring.has(processOf(parent))) this.#ignoring.add(processOf(tid));
  }

  /** An exec keeps what is blocked and ignored; the handlers are gone. */
  become(tid: number, former: number): void {
    const { isBlocked, isHeldBack } = this.#of(former);
    this.#threads.delete(former);
    Object.assign(this.#of(tid), { isBlocked, isHeldBack });
    this.#of(tid).beforeHandlers.length = 0;
  }

  forget(tid: number): void {
    this.#threads.delete(tid);
    this.#ignoring.delete(tid);
  }

  /** What it blocks without us. That it ignores SIGTRAP cannot be given back from outside. */
  restore(tid: number): void {
    if (this.#threads.get(tid)?.isBlocked !== true) return;
    const mask = ptraceSignalMask(tid);
    if (mask === null) return;
    mask[0]! |= TRAP_BIT;
    ptraceSetSignalMask(tid, mask);
  }

  /** It runs freely, and blocks what it wants. */
  pause(tid: number): void {
    this.restore(tid);
    this.#threads.delete(tid);
  }

  /** Such a call must not be stepped over: its trap would come while SIGTRAP is blocked. */
  static changesMask(callNumber: number): boolean {
    return MASK_CALLS.has(callNumber);
  }

  callBegins(tid: number, number: number, [how, set]: CallArguments): void {
    if (number === RT_SIGACTION && how === SIGTRAP) this.#of(tid).wish = isIgnored(tid, set);
    if (number !== RT_SIGPROCMASK) return;
    const traps = this.#of(tid);
    const has = set !== 0 && (read(tid, set, 1)[0]! & TRAP_BIT) !== 0;
    if (set === 0) traps.wish = traps.isBlocked;
    else if (how === SIG_BLOCK) traps.wish = traps.isBlocked || has;
    else if (how === SIG_UNBLOCK) traps.wish = traps.isBlocked && !has;
    else traps.wish = has;
  }

  /** Says whether a SIGTRAP that was held back is due. */
  callReturned(tid: number, number: number, result: number, [first, set, old]: CallArguments): boolean {
    if (number === RT_SIGACTION) {
      if (result === 0 && first === SIGTRAP) this.#actionSet(tid, set, old);
      return false;
    }
    if (!MASK_CALLS.has(number)) return false;
    const traps = this.#of(tid);
    const isReallyBlocked = unblock(tid);
    if (number === RT_SIGPROCMASK && result === 0) {
      if (old !== 0 && traps.isBlocked) setBit(tid, old);
      traps.isBlocked = traps.wish;
    } else if (number === RT_SIGRETURN) {
      traps.isBlocked = traps.beforeHandlers.pop() === true || isReallyBlocked;
    }
    const isDue = traps.isHeldBack && !traps.isBlocked;
    if (isDue) traps.isHeldBack = false;
    return isDue;
  }

  handlerEntered(tid: number): void {
    const traps = this.#of(tid);
    if (traps.beforeHandlers.length === MOST_HANDLERS) traps.beforeHandlers.shift();
    traps.beforeHandlers.push(traps.isBlocked);
    if (unblock(tid)) traps.isBlocked = true;
  }

  /** A SIGTRAP that somebody has sent, by its `si_code`: whether the thread is to have it now. */
  takes(tid: number, code: number | null): boolean {
    // One that the CPU raised is forced on the thread without us, too.
    if (code === null || code > 0) return true;
    const traps = this.#of(tid);
    if (traps.isBlocked) traps.isHeldBack = true;
    else if (this.#ignoring.size === 0 || !this.#ignoring.has(processOf(tid))) return true;
    return false;
  }

  #actionSet(tid: number, set: number, old: number): void {
    const process = processOf(tid);
    // struct sigaction begins with the handler.
    if (old !== 0 && this.#ignoring.has(process)) setWord(tid, old, SIG_IGN);
    if (set === 0) return;
    if (this.#of(tid).wish) this.#ignoring.add(process);
    else this.#ignoring.delete(process);
  }

  #of(tid: number): ThreadTraps {
    let traps = this.#threads.get(tid);
    if (traps === undefined) {
      traps = { isBlocked: false, beforeHandlers: [], isHeldBack: false, wish: false };
      this.#threads.set(tid, traps);
    }
    return traps;
  }
}

/** Says whether it was blocked. */
function unblock(tid: number): boolean {
  const mask = ptraceSignalMask(tid);
  if (mask === null || (mask[0]! & TRAP_BIT) === 0) return false;
  mask[0]! &= ~TRAP_BIT;
  ptraceSetSignalMask(tid, mask);
  return true;
}

function isIgnored(tid: number, action: number): boolean {
  return action !== 0 && read(tid, action, 8).every((byte, index) => byte === (index === 0 ? SIG_IGN : 0));
}

function read(tid: number, address: number, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  withMemory(tid, (fd) => readTargetMemory(fd, address, bytes));
  return bytes;
}

function setBit(tid: number, address: number): void {
  const [byte] = read(tid, address, 1);
  withMemory(tid, (fd) => writeTargetMemory(fd, address, Uint8Array.of(byte! | TRAP_BIT)));
}

function setWord(tid: number, address: number, value: number): void {
  const bytes = new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
  withMemory(tid, (fd) => writeTargetMemory(fd, address, bytes));
}

function withMemory(tid: number, use: (fd: number) => void): void {
  const fd = openSync(`/proc/${tid}/mem`, 'r+');
  try {
    use(fd);
  } finally {
    closeSync(fd);
  }
}

function statusOf(tid: number): string {
  try {
    return readFileSync(`/proc/${tid}/status`, 'latin1');
  } catch {
    return '';
  }
}

function processOf(tid: number): number {
  return Number(/^Tgid:\t(\d+)/m.exec(statusOf(tid))?.[1] ?? tid);
}
