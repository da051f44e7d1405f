import { constants } from 'node:os';
import { KIND_OTHER } from '@counterpoint/trace/instructions';
import {
  isSignalPending,
  pendingSignalCode,
  ptraceContinue,
  ptraceDetach,
  ptraceEventMessage,
  ptraceInterrupt,
  ptraceListen,
  ptraceSeize,
  ptraceSignalCode,
  ptraceSignalMask,
  ptraceStep,
  ptraceToCall,
  waitForTracee,
} from '../../kernel/sys/index.ts';
import type { FunctionGate } from './function-gate.ts';
import type { NextInstruction } from './next-instruction.ts';
import { Pinning } from './pinning.ts';
import type { Registers } from './registers.ts';
import { countStep, emptyCounts, type SoftCounts } from './soft-counts.ts';
import type { StepSink } from './step-sink.ts';
import { TargetReader } from './target-reader.ts';
import { TrapSignal } from './trap-signal.ts';
import { unseenSteps } from './unseen-steps.ts';

/** linux/ptrace.h. */
const EVENT_FORK = 1;
const EVENT_VFORK = 2;
const EVENT_CLONE = 3;
const EVENT_EXEC = 4;
const EVENT_STOP = 128;
/** PTRACE_O_TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC. */
const FOLLOW_CHILDREN_AND_EXEC = 0x1f;

/** `si_code` of a SIGTRAP (asm-generic/siginfo.h): after a system call, and after any other instruction. */
const TRAP_BRKPT = 1;
const TRAP_TRACE = 2;
/** Sent by kill(2), or by the kernel behind an instruction that stands beside its place (uprobes). */
const SI_USER = 0;
const { SIGTRAP, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU } = constants.signals;
/** ptrace_notify(SIGTRAP): a signal's handler was entered, and nothing was executed yet. */
const HANDLER_ENTERED = SIGTRAP;
/** The beginning or the end of a system call (PTRACE_O_TRACESYSGOOD). */
const AT_CALL = SIGTRAP | 0x80;
const STOPPING: ReadonlySet<number> = new Set([SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU]);
/** So often at least it is asked whether to stop, while nothing interrupts. */
const STEPS_BETWEEN_QUESTIONS = 4096;

interface SteppedThread {
  /** Where it stood when it was looked at last. */
  pc: number;
  /** What it was told to execute; `null`: not known, as before its first stop. */
  next: NextInstruction | null;
  /** Of the system call that comes next; -1: none does, or of 32-bit code. */
  callNumber: number;
  /** The signal that it was told to take. */
  givenSignal: number;
  /** It runs freely until its exec, or until it is in a function. */
  isWaiting: boolean;
  /** It was here before us. */
  isAttached: boolean;
  /** Whoever made it has told of it, or it is attached. */
  isTold: boolean;
  /** It is between the two stops of a system call that is not stepped over. */
  isInCall: boolean;
  /** It stands at its beginning until its parent has told of it. */
  isHeld: boolean;
  /** What it is to have next: its own SIGTRAP that was held back. */
  dueSignal: number;
}

/**
 * Steps threads, and those that they start, until all have ended or `shouldStop`.
 *
 *   wait ─> step done: count, read what comes next ─┐
 *     │  ─> signal: hand it on                      ├─> step
 *     └  ─> fork, clone, exec: follow               ┘
 */
export class Stepper {
  readonly counts: SoftCounts = emptyCounts();
  /** Is told of each step. */
  sink: StepSink | null = null;
  #gate: FunctionGate | null = null;
  /** The number of instructions after which stepping ends. */
  stopAfter = Number.POSITIVE_INFINITY;
  /** Says when threads are stepped; null: always. */
  get gate(): FunctionGate | null {
    return this.#gate;
  }
  set gate(gate: FunctionGate) {
    this.#gate = gate;
    this.#reader.hiddenByte = (tid, address) => gate.stops.hiddenByte(tid, address);
  }
  get stepped(): number {
    return this.counts.instructions;
  }
  /** Where all of it runs; -1: anywhere. */
  get cpu(): number {
    return this.#pinning.cpu;
  }
  readonly #threads = new Map<number, SteppedThread>();
  /** They began and ended before their parents told of them. */
  readonly #endedUntold = new Set<number>();
  readonly #reader = new TargetReader();
  readonly #shouldStop: () => boolean;
  readonly #pinning: Pinning;
  readonly #traps = new TrapSignal();

  /** `tids` are those that will be attached: a CPU is chosen that they may use. */
  constructor(tids: readonly number[], shouldStop: () => boolean) {
    this.#pinning = new Pinning(tids);
    this.#shouldStop = shouldStop;
  }

  /** With `fromExec`, it is counted from its next exec on. */
  attach(tid: number, fromExec: boolean): void {
    ptraceSeize(tid, FOLLOW_CHILDREN_AND_EXEC);
    Object.assign(this.#add(tid), { isWaiting: fromExec, isAttached: true, isTold: true });
    this.#pinning.pin(tid);
    if (!fromExec) ptraceInterrupt(tid);
  }

  /** Returns when nothing is traced any more: targets that did not end go on by themselves. */
  run(): void {
    this.#run();
    this.sink?.finish();
  }

  #run(): void {
    // A child that is none of ours, such as a loader's helper, is not waited for at the end.
    for (let turn = 1; this.#threads.size > 0; turn++) {
      const isAsked = turn % STEPS_BETWEEN_QUESTIONS === 0 || this.#isEnough;
      if (isAsked && this.#isToStop()) {
        this.#detachAll();
        return;
      }
      const stop = waitForTracee();
      if (stop === null) {
        if (this.#isToStop()) {
          this.#detachAll();
          return;
        }
        continue;
      }
      if (stop.tid === 0) return;
      this.#take(stop.tid, stop.status);
    }
  }

  #isToStop(): boolean {
    this.sink?.flush();
    return this.#isEnough || this.#shouldStop();
  }

  /** Threads are not stepped until a breakpoint stops them. */
  #runsToFunction(tid: number): boolean {
    return this.gate?.runsFreely(tid) === true;
  }

  get #isEnough(): boolean {
    return this.counts.instructions >= this.stopAfter;
  }

  #add(tid: number): SteppedThread {
    const known = this.#threads.get(tid);
    if (known !== undefined) return known;
    const thread = {
      pc: 0,
      next: null,
      callNumber: -1,
      givenSignal: 0,
      isWaiting: false,
      isAttached: false,
      isTold: false,
      isInCall: false,
      isHeld: false,
      dueSignal: 0,
    };
    this.#threads.set(tid, thread);
    this.counts.threads++;
    return thread;
  }

  #addChildOf(parent: number, event: number): void {
    const tid = ptraceEventMessage(parent);
    if (this.#endedUntold.delete(tid)) return;
    const thread = this.#add(tid);
    thread.isTold = true;
    if (event !== EVENT_CLONE) this.gate?.fork(tid, parent);
    this.#pinning.inherit(tid, parent);
    this.#traps.inherit(tid, parent);
    this.sink?.birth(tid, parent);
    if (thread.isHeld) this.#release(tid, thread);
  }

  #release(tid: number, thread: SteppedThread): void {
    thread.isHeld = false;
    this.#begin(tid, thread);
    this.#resume(tid, thread, 0);
  }

  #take(tid: number, status: number): void {
    // A child may stop before its parent tells of it.
    if ((status & 0xff) !== 0x7f) {
      this.#end(tid, status);
      return;
    }
    const thread = this.#add(tid);
    const signal = (status >> 8) & 0xff;
    const event = status >>> 16;
    if (event === EVENT_EXEC) this.#exec(tid, thread);
    else if (isBirth(event)) this.#addChildOf(tid, event);
    else if (event === EVENT_STOP && STOPPING.has(signal)) {
      ptraceListen(tid);
      return;
    } else if (signal === AT_CALL) this.#atCall(tid, thread);
    else if (event !== EVENT_STOP && signal !== 0) {
      this.#signal(tid, thread, signal);
      return;
    } else if (thread.next === null && !thread.isWaiting) {
      // In which call it was forked is known when its parent tells of it.
      if (this.gate !== null && !thread.isTold) {
        thread.isHeld = true;
        return;
      }
      this.#begin(tid, thread);
    } else if (thread.isWaiting && this.gate !== null) {
      this.gate.refresh(tid);
      this.#stepWhereNothingStops(tid, thread);
    }
    this.#resume(tid, thread, thread.dueSignal);
  }

  /** Its first stop. */
  #begin(tid: number, thread: SteppedThread): void {
    const { gate } = this;
    const isInside = gate?.attach(tid, this.#stackPointerOf(tid)) === true;
    if (this.#runsToFunction(tid) && !isInside) {
      thread.isWaiting = true;
      return;
    }
    if (thread.isAttached) this.#traps.attach(tid);
    this.#look(tid, thread);
  }

  #stackPointerOf(tid: number): number {
    return this.#reader.read(tid) === null ? 0 : this.#reader.registers.stackPointer;
  }

  /** Two stops: its beginning, then its end. */
  #atCall(tid: number, thread: SteppedThread): void {
    thread.isInCall = !thread.isInCall;
    if (!thread.isInCall) this.#look(tid, thread, 'always');
  }

  #resume(tid: number, thread: SteppedThread, signal: number): void {
    thread.givenSignal = signal;
    thread.dueSignal = 0;
    if (thread.isWaiting) ptraceContinue(tid, signal);
    // With a signal, its handler may come first: that is a step.
    else if (thread.isInCall || (signal === 0 && TrapSignal.changesMask(thread.callNumber)))
      ptraceToCall(tid, signal);
    else ptraceStep(tid, signal);
  }

  #signal(tid: number, thread: SteppedThread, signal: number): void {
    const code = signal === SIGTRAP ? ptraceSignalCode(tid) : null;
    if (thread.isWaiting) {
      const isTheirs = !this.#runsToFunction(tid) || signal !== SIGTRAP || this.#traps.takes(tid, code);
      const isOurs = this.gate?.stops.isOurs(code) === true && this.#atBreakpoint(tid, thread);
      this.#resume(tid, thread, isTheirs && !isOurs ? signal : 0);
      return;
    }
    if (code === TRAP_TRACE || code === TRAP_BRKPT || this.#wasAtHidden(tid, thread, code)) {
      this.#look(tid, thread, 'always');
      this.#resume(tid, thread, 0);
      return;
    }
    if (code === HANDLER_ENTERED) {
      this.#traps.handlerEntered(tid);
      this.#look(tid, thread, 'never');
      this.#resume(tid, thread, 0);
      return;
    }
    // The kernel keeps one SIGTRAP at a time, so that of the step is lost where the target
    // sent itself one; int3 has no step of its own.
    this.#look(tid, thread, 'if-moved');
    const isTaken = signal !== SIGTRAP || this.#traps.takes(tid, code);
    this.#resume(tid, thread, isTaken ? signal : 0);
  }

  /** False: it is none of ours. */
  #atBreakpoint(tid: number, thread: SteppedThread): boolean {
    const { gate } = this;
    if (gate === null || this.#reader.read(tid) === null) return false;
    const { registers } = this.#reader;
    const at = gate.stops.arrived(tid, registers);
    if (at === null) return false;
    const done = at.isBehind ? this.#reader.instructionAt(tid, at.pc) : null;
    // It blocked SIGTRAP meanwhile: this call is over or goes on, and is not seen.
    if (done?.kind === KIND_OTHER && registers.pc !== done.pc + done.length && registers.pc !== done.pc)
      return true;
    if (gate.enters(tid, at, (address) => this.#reader.readAddress(tid, address))) {
      Object.assign(thread, { isWaiting: false, pc: at.pc, next: done });
      this.#traps.attach(tid);
      this.#look(tid, thread, done === null ? 'never' : 'always');
    } else this.#stepWhereNothingStops(tid, thread);
    return true;
  }

  /** The kernel has no breakpoint for this function: the thread is stepped to it. */
  #stepWhereNothingStops(tid: number, thread: SteppedThread): void {
    if (this.gate === null || this.gate.runsFreely(tid)) return;
    thread.isWaiting = false;
    this.#traps.attach(tid);
    this.#look(tid, thread);
  }

  /** Its last instruction stood where the kernel has a breakpoint, and was executed elsewhere. */
  #wasAtHidden(tid: number, { pc }: SteppedThread, code: number | null): boolean {
    const { gate } = this;
    if (gate === null || (code !== SI_USER && !gate.stops.isOurs(code))) return false;
    return gate.stops.hiddenByte(tid, pc) !== null;
  }

  /** Behind the last instruction of the function it runs freely. */
  #leave(tid: number, thread: SteppedThread): void {
    this.#traps.pause(tid);
    Object.assign(thread, { isWaiting: true, next: null, callNumber: -1 });
  }

  /** Read what comes next, after counting what was to come before. */
  #look(tid: number, thread: SteppedThread, counts: 'always' | 'if-moved' | 'never' = 'never'): void {
    const now = this.#reader.read(tid);
    if (now === null) return;
    const { next } = thread;
    const isDone = counts === 'always' || (counts === 'if-moved' && now.pc !== thread.pc);
    const { registers } = this.#reader;
    const last = isDone && next !== null ? this.#countTo(tid, next, now.pc) : null;
    if (isDone && thread.callNumber >= 0) this.#callReturned(tid, thread, registers);
    if (last !== null && this.gate?.leaves(tid, last, registers) === true && this.#runsToFunction(tid)) {
      this.#leave(tid, thread);
      return;
    }
    if (this.gate?.runsFreely(tid) === false) {
      const at = { pc: registers.pc, stackPointer: registers.stackPointer, isBehind: false };
      this.gate.enters(tid, at, (address) => this.#reader.readAddress(tid, address));
    }
    thread.pc = now.pc;
    thread.next = now.next;
    thread.callNumber = now.next.isSystemCall && !registers.is32Bit ? registers.callNumber : -1;
    if (thread.callNumber >= 0) this.#traps.callBegins(tid, thread.callNumber, registers.callArguments);
  }

  /** Counts what was stepped, and what ran unseen behind it. Returns the last of these. */
  #countTo(tid: number, done: NextInstruction, pc: number): NextInstruction {
    const { registers } = this.#reader;
    const unseen = unseenSteps(done, pc, (address) => this.#reader.instructionAt(tid, address));
    let last = done;
    for (const next of unseen) {
      this.#count(tid, last, registers.at(next.pc));
      last = next;
    }
    this.#count(tid, last, registers);
    return last;
  }

  /** Without registers it has ended with this instruction. */
  #count(tid: number, done: NextInstruction, registers: Registers | null): void {
    if (this.#isEnough || (this.gate?.runsFreely(tid) === false && !this.gate.isInside(tid))) return;
    if (countStep(this.counts, done, registers?.pc ?? 0)) this.sink?.step(tid, done, registers);
  }

  #callReturned(tid: number, { callNumber }: SteppedThread, registers: Registers): void {
    const { callResult, callArguments } = registers;
    this.#pinning.callReturned(tid, { number: callNumber, result: callResult, arguments: callArguments });
    const isDue = this.#traps.callReturned(tid, callNumber, callResult, callArguments);
    if (isDue) this.#add(tid).dueSignal = SIGTRAP;
  }

  /** Whoever called exec has the number of its process now, and all other threads are gone. */
  #exec(tid: number, thread: SteppedThread): void {
    const formerTid = ptraceEventMessage(tid);
    const former = this.#threads.get(formerTid) ?? thread;
    if (!thread.isWaiting && former.next !== null) this.#count(formerTid, former.next, null);
    if (formerTid !== tid) {
      // The leader's end is not told. A call that it waited in was begun, as at any other end.
      if (thread.next?.isSystemCall === true) this.#count(tid, thread.next, null);
      this.#pinning.become(tid, formerTid);
      this.#traps.become(tid, formerTid);
      this.#forget(formerTid);
    }
    this.#reader.forget(tid);
    this.sink?.exec(tid, formerTid);
    this.gate?.exec(tid, formerTid);
    const isFree = this.#runsToFunction(tid);
    if (!isFree && thread.isWaiting) this.#traps.attach(tid);
    thread.isWaiting = isFree;
    // The step that ends the call of exec is not the new program's.
    thread.next = null;
    thread.callNumber = -1;
    thread.isInCall = false;
  }

  #end(tid: number, status: number): void {
    const thread = this.#threads.get(tid);
    const endSignal = status & 0x7f;
    const wasKilledBefore = endSignal !== 0 && endSignal === thread?.givenSignal;
    // exit and its like, and a call in which it was killed, were begun and did not come back.
    if (thread?.next?.isSystemCall === true && !wasKilledBefore) this.#count(tid, thread.next, null);
    this.sink?.end(tid);
    if (thread?.isTold === false) this.#endedUntold.add(tid);
    this.#forget(tid);
    // If it was their parent, nobody tells of them any more.
    for (const [child, held] of this.#threads) if (held.isHeld) this.#release(child, held);
  }

  #forget(tid: number): void {
    this.#threads.delete(tid);
    this.#pinning.forget(tid);
    this.#traps.forget(tid);
    this.gate?.forget(tid);
    this.#reader.forget(tid);
  }

  /**
   * A thread that is let go while it steps would be killed by the trap that follows: first all are stopped,
   * and a trap that is under way is waited for.
   */
  #detachAll(): void {
    for (const [tid, { isHeld }] of [...this.#threads]) {
      if (isHeld) {
        this.#endedUntold.add(tid);
        this.#detach(tid, 0);
      } else ptraceInterrupt(tid);
    }
    while (this.#threads.size > 0) {
      const stop = waitForTracee();
      if (stop === null) continue;
      if (stop.tid === 0) return;
      const { tid, status } = stop;
      if ((status & 0xff) !== 0x7f) this.#end(tid, status);
      else this.#letGo(tid, status);
    }
  }

  #letGo(tid: number, status: number): void {
    const thread = this.#add(tid);
    const signal = (status >> 8) & 0xff;
    const event = status >>> 16;
    // The new thread stops by itself at its beginning.
    if (isBirth(event)) this.#addChildOf(tid, event);
    if (event === EVENT_EXEC) this.#exec(tid, thread);
    if (signal === AT_CALL) {
      this.#atCall(tid, thread);
      // It was asked to stop, so its end comes at once.
      if (thread.isInCall) ptraceToCall(tid, 0);
      else this.#detach(tid, thread.dueSignal);
      return;
    }
    if (event === 0 && signal === SIGTRAP) {
      const code = ptraceSignalCode(tid);
      const isStep =
        code === TRAP_TRACE ||
        code === TRAP_BRKPT ||
        (!thread.isWaiting && this.#wasAtHidden(tid, thread, code));
      if (isStep || code === HANDLER_ENTERED) {
        this.#look(tid, thread, isStep ? 'always' : 'never');
        this.#detach(tid, 0);
        return;
      }
      if (this.gate?.stops.isOurs(code) === true) {
        this.#detach(tid, 0);
        return;
      }
    }
    if (event === 0 && !thread.isWaiting) this.#look(tid, thread, 'if-moved');
    if (event === 0) {
      this.#detach(tid, signal);
      return;
    }
    // The trap of a step that was done comes next: it must not come without a tracer.
    if (isSignalPending(tid, SIGTRAP) && this.#canTake(tid, thread)) {
      ptraceContinue(tid, 0);
      return;
    }
    this.#detach(tid, 0);
  }

  /** A SIGTRAP of ours must be taken, also if the thread blocks it: else it would end the program later. */
  #canTake(tid: number, thread: SteppedThread): boolean {
    if (!thread.isWaiting) return true;
    const isOurs = this.gate?.stops.isOurs(pendingSignalCode(tid, SIGTRAP)) === true;
    if (isOurs) this.#traps.attach(tid);
    return isOurs || !isBlocked(tid, SIGTRAP);
  }

  #detach(tid: number, signal: number): void {
    this.#pinning.restore(tid);
    this.#traps.restore(tid);
    this.gate?.forget(tid);
    ptraceDetach(tid, signal);
    this.#forget(tid);
  }
}

function isBlocked(tid: number, signal: number): boolean {
  const mask = ptraceSignalMask(tid);
  return mask !== null && (mask[(signal - 1) >> 3]! & (1 << ((signal - 1) & 7))) !== 0;
}

/** fork, vfork or clone. */
function isBirth(event: number): boolean {
  return event === EVENT_FORK || event === EVENT_VFORK || event === EVENT_CLONE;
}
