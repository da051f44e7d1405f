import { CounterpointError } from '@counterpoint/core/base';
import { KIND_JUMP_INDIRECT } from '@counterpoint/trace/instructions';
import { ptraceInterrupt } from '../../kernel/sys/index.ts';
import { FunctionFinder } from './function-place.ts';
import { entryOf } from './mapped-code.ts';
import type { NextInstruction } from './next-instruction.ts';
import { processOf } from './process-of.ts';
import type { Registers } from './registers.ts';
import type { Arrival, StopPlaces } from './stop-places.ts';

/** Where the return address of a call stands, and what it is. */
interface OpenCall {
  slot: number;
  returnAddress: number;
}

interface GatedThread extends OpenCall {
  /** The function in its program; 0: not known yet, or there is none. */
  address: number;
  /** Where it is to stop; 0: nowhere, as while it is in the function, when `slot` is not 0. */
  breakAt: number;
  /** Nothing stops it there: it is stepped to it. */
  isStepped: boolean;
}

/** So far the stack pointer goes at most when a call is left by a jump; what is farther is another stack. */
const FAR_BYTES = 2 ** 23;

/**
 * Threads run freely until they call a function, and again when it has returned. They stop at its first
 * instruction by what `StopPlaces` have.
 *
 * Where nothing stops them, all is stepped, and each stop is compared with the
 * place: slow, and the same calls.
 *
 *   exec ─> break at the program's entry ─> libraries are there, find the function ─> break there ─> in the function
 *                                               │            ↑                            ↑                  │
 *                                           not there ─> break where the loader tells     └───── returned ───┘
 *                                                        of libraries (dlopen)
 */
export class FunctionGate {
  readonly stops: StopPlaces;
  readonly #finder: FunctionFinder;
  /** Some program of the target has had it. */
  isFound = false;
  readonly #threads = new Map<number, GatedThread>();
  /** Calls in which children were forked that have not begun yet. */
  readonly #forkedIn = new Map<number, OpenCall>();
  /** They run, and are to stop at what was loaded meanwhile. */
  readonly #late = new Set<number>();

  constructor(wanted: string, stops: StopPlaces) {
    this.#finder = new FunctionFinder(wanted);
    this.stops = stops;
  }

  /** The thread runs until it reaches the function; else it is stepped to it. */
  runsFreely(tid: number): boolean {
    return this.stops.way !== 'step' && this.#threads.get(tid)?.isStepped !== true;
  }

  /** It is in a call of the function. */
  isInside(tid: number): boolean {
    return (this.#threads.get(tid)?.slot ?? 0) !== 0;
  }

  /** It has a new program, and stands before its loader's first instruction. */
  exec(tid: number, formerTid: number): void {
    this.forget(formerTid);
    this.forget(tid);
    this.#set(tid, 0, entryOf(tid) ?? 0);
  }

  /** `parent` has forked it, in whatever call it is. */
  fork(tid: number, parent: number): void {
    const call = this.#threads.get(parent);
    if (call !== undefined && call.slot !== 0) this.#forkedIn.set(tid, call);
  }

  /** It stands anywhere in a program that runs. True: in a call of the function. */
  attach(tid: number, stackPointer: number): boolean {
    const address = this.#find(tid);
    const call = this.#forkedIn.get(tid);
    this.#forkedIn.delete(tid);
    if (call !== undefined && stackPointer <= call.slot && call.slot - stackPointer < FAR_BYTES) {
      const { slot, returnAddress } = call;
      Object.assign(this.#set(tid, address, 0), { slot, returnAddress });
      return true;
    }
    this.#wait(tid, address);
    return false;
  }

  /** It has stopped here: whether it is to be stepped now. */
  enters(tid: number, at: Arrival, readWord: (address: number) => number): boolean {
    const thread = this.#threads.get(tid);
    if (thread === undefined || at.pc !== thread.breakAt) return false;
    // At its entry a program has all its libraries but those of dlopen. The function may be the entry itself.
    const address = thread.address === 0 ? this.#find(tid) : thread.address;
    if (address !== at.pc) {
      this.#wait(tid, address);
      if (address !== 0 && thread.address === 0) this.#tellOthers(tid, address);
      return false;
    }
    const slot = at.stackPointer;
    Object.assign(this.#set(tid, address, 0), { slot, returnAddress: readWord(slot) });
    return true;
  }

  /** `done` was the last instruction of the call: then it runs freely again. */
  leaves(tid: number, done: NextInstruction, { pc, stackPointer }: Registers): boolean {
    const thread = this.#threads.get(tid);
    if (thread === undefined || thread.slot === 0 || stackPointer <= thread.slot) return false;
    // longjmp and exceptions go on farther out.
    const isJump = done.kind === KIND_JUMP_INDIRECT && stackPointer - thread.slot < FAR_BYTES;
    if (pc !== thread.returnAddress && !isJump) return false;
    this.#wait(tid, thread.address);
    return true;
  }

  /** It stands, and runs freely: what was loaded while it ran is set now. */
  refresh(tid: number): void {
    if (this.#late.delete(tid)) this.#wait(tid, this.#find(tid));
  }

  forget(tid: number): void {
    this.#forkedIn.delete(tid);
    this.#late.delete(tid);
    if (this.#threads.delete(tid)) this.stops.forget(tid);
  }

  /** Why nothing was stepped. */
  error(): CounterpointError {
    return this.#finder.error();
  }

  /** 0: its program has none so far. */
  #find(tid: number): number {
    const address = this.#finder.addressIn(tid) ?? 0;
    if (address !== 0) this.isFound = true;
    return address;
  }

  /** For the function, or for a library that may have it. */
  #wait(tid: number, address: number): void {
    this.#set(tid, address, address === 0 ? (this.#finder.loaderStopIn(tid) ?? 0) : address);
  }

  /** A library was loaded: by its process, not only by its thread. */
  #tellOthers(tid: number, address: number): void {
    const process = processOf(tid);
    for (const [other, thread] of this.#threads) {
      if (other === tid || thread.address !== 0 || processOf(other) !== process) continue;
      if (this.stops.way !== 'debug-register') this.#wait(other, address);
      if (
        this.stops.way !== 'step' &&
        (this.stops.way === 'debug-register' || !this.runsFreely(other)) &&
        ptraceInterrupt(other)
      )
        this.#late.add(other);
    }
  }

  #set(tid: number, address: number, breakAt: number): GatedThread {
    const hasStop = this.stops.set(tid, breakAt);
    if (!hasStop && this.stops.way === 'debug-register')
      throw new CounterpointError(
        'ERR_SOFT_FUNCTION',
        'the kernel gives no breakpoint in a debug register, so it is not seen when the function is called',
        'End what uses them (a debugger, -e mem:), or record without --on-function.',
      );
    const thread = { address, breakAt, slot: 0, returnAddress: 0, isStepped: !hasStop };
    this.#threads.set(tid, thread);
    return thread;
  }
}
