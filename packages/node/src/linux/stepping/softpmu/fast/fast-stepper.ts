import { constants } from 'node:os';
import {
  isSignalPending,
  ptraceContinue,
  ptraceDetach,
  ptraceEventMessage,
  ptraceInterrupt,
  ptraceListen,
  ptraceSeize,
  ptraceSetSignalInfo,
  ptraceSignalCode,
  ptraceSignalInfo,
  ptraceStep,
  SIGINFO_WORDS,
  waitForTracee,
} from '../../../kernel/sys/index.ts';
import { type Block, CALL_EXIT } from '../../code-cache/index.ts';
import type { NextInstruction } from '../next-instruction.ts';
import type { SoftCounts } from '../soft-counts.ts';
import type { StepSink } from '../step-sink.ts';
import { TargetReader } from '../target-reader.ts';
import { unseenSteps } from '../unseen-steps.ts';
import { changedMemory, endsCounters, readCall, startsShadowStack } from './call-effects.ts';
import { FastCounts } from './fast-counts.ts';
import {
  EVENT_CLONE,
  EVENT_EXEC,
  EVENT_EXIT,
  EVENT_FORK,
  EVENT_STOP,
  EVENT_VFORK,
  HANDLER_ENTERED,
  isInTrap,
  SI_KERNEL,
  STOPPING,
  TRACE_OPTIONS,
  TRAP_BRKPT,
  TRAP_TRACE,
} from './ptrace-events.ts';
import { remoteCall } from './remote-call.ts';
import { ORIG_RAX, RAX, RCX, TargetRegisters } from './target-registers.ts';
import { ThreadTable } from './thread-table.ts';
import {
  CLONE_VFORK,
  CLONE_VM,
  cloneFlags,
  correctAddress,
  SharedMemory,
  type TracedThread,
} from './traced-thread.ts';

const { SIGTRAP } = constants.signals;
/** Not by the number of stops: of a busy target there is always another, and each log takes long to read. */
const QUESTION_MS = 50;

/**
 * Counts as `Stepper` does, but threads execute translated code that counts itself. What cannot be translated
 * is stepped, one instruction after the other, at its own address.
 *
 *   trap of translated code ─> translate, link ──────────────────────────┐
 *   signal ─> back to the program's own code ─> step into the handler ───┼─> translated, else step
 *   step done: count ────────────────────────────────────────────────────┘
 */
export class FastStepper {
  readonly counts: SoftCounts;
  readonly #all: FastCounts;
  readonly #threads: ThreadTable;
  /** Stopped before their parents told of them. */
  readonly #early = new Map<number, number>();
  readonly #reader = new TargetReader();
  readonly #registers = new TargetRegisters();
  readonly #shouldStop: () => boolean;
  /** Is told of each instruction; null: they are only counted. */
  readonly #sink: StepSink | null;

  constructor(shouldStop: () => boolean, sink: StepSink | null = null) {
    this.#shouldStop = shouldStop;
    this.#sink = sink;
    this.#all = new FastCounts(sink);
    this.counts = this.#all.counts;
    this.#threads = new ThreadTable(this.#all, sink !== null);
  }

  /** Instructions of `counts` that were stepped. */
  get stepped(): number {
    return this.#all.stepped;
  }

  /** With `fromExec`, it is counted from its next exec on. */
  attach(tid: number, fromExec: boolean): void {
    ptraceSeize(tid, TRACE_OPTIONS);
    const thread = this.#add(tid);
    if (fromExec) thread.mode = 'waiting';
    else ptraceInterrupt(tid);
  }

  /** Returns when nothing is traced any more: targets that did not end go on by themselves. */
  run(): void {
    let nextQuestionMs = 0;
    while (this.#threads.size > 0) {
      const stop = waitForTracee();
      if (stop !== null && stop.tid === 0) break;
      if (stop !== null) this.#take(stop.tid, stop.status);
      const nowMs = performance.now();
      if (stop !== null && nowMs < nextQuestionMs) continue;
      nextQuestionMs = nowMs + QUESTION_MS;
      this.#sink?.flush();
      if (this.#shouldStop()) this.#detachAll();
    }
    this.#sink?.finish();
  }

  #add(tid: number, memory?: SharedMemory): TracedThread {
    const known = this.#threads.get(tid);
    if (known !== undefined) return known;
    this.counts.threads++;
    return this.#threads.add(tid, memory);
  }

  #take(tid: number, status: number): void {
    const thread = this.#threads.get(tid);
    if ((status & 0xff) !== 0x7f) {
      this.#end(tid, status);
      return;
    }
    if (thread === undefined) {
      this.#early.set(tid, status);
      return;
    }
    const signal = (status >> 8) & 0xff;
    const event = status >>> 16;
    switch (event) {
      case EVENT_EXEC:
        this.#exec(thread);
        this.#resume(thread, 0);
        return;
      case EVENT_FORK:
      case EVENT_VFORK:
      case EVENT_CLONE:
        this.#follow(thread, event);
        this.#resume(thread, 0);
        return;
      case EVENT_EXIT:
        this.#exiting(thread);
        ptraceContinue(tid, 0);
        return;
      case EVENT_STOP:
        if (STOPPING.has(signal)) ptraceListen(tid);
        // The trap that it stands behind comes next.
        else if (thread.mode === 'translated' && isInTrap(tid)) this.#resume(thread, 0);
        else if (thread.space?.isStale === true && thread.mode === 'translated') {
          if (this.#leave(thread, null)) this.#goOn(thread);
        } else if (thread.mode === 'stepping' && thread.next === null) this.#goOn(thread);
        else this.#resume(thread, 0);
        return;
      default:
        this.#signal(thread, signal);
    }
  }

  #resume(thread: TracedThread, signal: number): void {
    thread.givenSignal = signal;
    if (thread.mode === 'stepping') ptraceStep(thread.tid, signal);
    else ptraceContinue(thread.tid, signal);
  }

  #signal(thread: TracedThread, signal: number): void {
    const { tid } = thread;
    if (thread.mode === 'waiting') {
      this.#resume(thread, signal);
      return;
    }
    const code = signal === SIGTRAP ? ptraceSignalCode(tid) : null;
    if (thread.mode === 'translated') {
      if (code === SI_KERNEL && this.#exit(thread)) return;
      const info = new Int32Array(SIGINFO_WORDS);
      ptraceSignalInfo(tid, info);
      if (!this.#leave(thread, info)) return;
      this.#deliver(thread, info);
      return;
    }
    if (code === TRAP_TRACE || code === TRAP_BRKPT) {
      this.#stepDone(thread, true);
      const held = thread.held.shift();
      if (held === undefined) this.#goOn(thread);
      else this.#deliver(thread, held);
      return;
    }
    if (code === HANDLER_ENTERED) {
      this.#stepDone(thread, false);
      this.#goOn(thread);
      return;
    }
    this.#stepDone(thread, 'if-moved');
    this.#resume(thread, signal);
  }

  /** Hand a signal to a thread that stands in its own code, and stop where its handler begins. */
  #deliver(thread: TracedThread, info: Int32Array): void {
    ptraceSetSignalInfo(thread.tid, info);
    this.#stepDone(thread, false);
    this.#resume(thread, info[0]!);
  }

  /** Count what was stepped, and read what comes next. */
  #stepDone(thread: TracedThread, counts: boolean | 'if-moved'): void {
    const now = this.#reader.read(thread.tid);
    if (now === null) return;
    const isDone = counts === true || (counts === 'if-moved' && now.pc !== thread.pc);
    if (isDone && thread.next !== null) this.#countTo(thread.tid, thread.next, now.pc);
    if (isDone) this.#callDone(thread);
    thread.pc = now.pc;
    thread.next = now.next;
    if (now.next.isSystemCall) this.#beforeCall(thread);
  }

  #countTo(tid: number, done: NextInstruction, pc: number): void {
    const unseen = unseenSteps(done, pc, (address) => this.#reader.instructionAt(tid, address));
    const steps = [done, ...unseen];
    const { stackPointer } = this.#reader.registers;
    for (const [index, step] of steps.entries())
      this.#all.step(tid, step, { pc: steps[index + 1]?.pc ?? pc, stackPointer });
  }

  /** Into translated code, or else one step. */
  #goOn(thread: TracedThread): void {
    const registers = this.#registers;
    if (!registers.read(thread.tid)) return;
    const pc = registers.nextPc;
    if (thread.isBorrower || thread.held.length > 0 || registers.is32Bit) {
      this.#step(thread);
      return;
    }
    const space = this.#threads.spaceFor(thread);
    if (space.isStale) space.forget();
    const block = space.blockAt(pc, this.#callIn(thread));
    // Making it may have taken a system call of the target.
    if (block === null || thread.held.length > 0 || !registers.read(thread.tid)) {
      this.#step(thread);
      return;
    }
    registers.restartCall();
    registers.setPc(block.start);
    registers.leaveCall();
    registers.write(thread.tid);
    thread.mode = 'translated';
    thread.next = null;
    thread.call = null;
    this.#resume(thread, 0);
  }

  #step(thread: TracedThread): void {
    if (thread.next === null) this.#stepDone(thread, false);
    this.#resume(thread, 0);
  }

  /** A trap of translated code. False: it is none. */
  #exit(thread: TracedThread): boolean {
    const registers = this.#registers;
    const space = thread.space!;
    if (!registers.read(thread.tid)) return true;
    const address = registers.pc - 1;
    const zone = space.zoneOf(address);
    if (zone === null) return false;
    if (this.#hasEmptiedLog(thread, address)) {
      // It executes while what was in its log is told.
      if (!space.isStale) {
        this.#resume(thread, 0);
        space.tellLog();
      } else if (this.#leave(thread, null)) this.#goOn(thread);
      return true;
    }
    const exit = zone.exitAt(address);
    if (exit === undefined && !zone.isMissed(address)) return false;
    const pc = exit === undefined ? zone.missedTarget() : exit.pc;
    if (exit?.kind === 'system call') {
      this.#backTo(thread, pc, exit.block, exit.block.kinds.length - 1);
      this.#step(thread);
      return true;
    }
    if (space.isStale) {
      this.#backTo(thread, pc);
      this.#goOn(thread);
      return true;
    }
    const { generation } = space;
    // Should it take a system call of the target, the thread must stand where it can stay.
    registers.setPc(pc);
    registers.leaveCall();
    registers.write(thread.tid);
    const block = space.blockAt(pc, this.#callIn(thread));
    if (block === null || thread.held.length > 0 || !registers.read(thread.tid)) {
      this.#backTo(thread, pc);
      this.#step(thread);
      return true;
    }
    if (space.generation === generation) {
      if (exit === undefined) zone.addTarget(pc, block);
      else zone.link(exit, block);
      zone.finish();
    }
    registers.setPc(block.start);
    registers.write(thread.tid);
    this.#resume(thread, 0);
    return true;
  }

  /** Of a thread whose registers were read, at the trap of a full log: it is led behind it. */
  #hasEmptiedLog({ space }: TracedThread, address: number): boolean {
    return space!.emptyLog(address, this.#registers);
  }

  /** Of `block`, which is counted, only `done` instructions were executed; null: it was between two. */
  #backTo(thread: TracedThread, pc: number, block: Block | null = null, done = 0): void {
    thread.space!.settle(block, done, pc);
    const registers = this.#registers;
    registers.read(thread.tid);
    registers.setPc(pc);
    registers.write(thread.tid);
    thread.mode = 'stepping';
    thread.next = null;
  }

  /**
   * From translated code to the same place of the program's own. Where the registers are not the
   * program's, it goes on step by step until they are. False: it has ended on the way. `info` is the
   * signal that it stopped for.
   */
  #leave(thread: TracedThread, info: Int32Array | null): boolean {
    const registers = this.#registers;
    const { tid } = thread;
    for (;;) {
      if (!registers.read(tid)) return false;
      const address = registers.pc;
      const space = thread.space!;
      if (this.#hasEmptiedLog(thread, address)) continue;
      const position = space.positionAt(address);
      if (position === null) break;
      if (!position.isClean) {
        if (!ptraceStep(tid, 0) || !this.#waitForStep(thread)) return false;
        continue;
      }
      space.settle(position.isCounted ? position.block : null, position.done, position.pc);
      if (position.owes === 'rcx') registers.set(RCX, position.pc);
      if (position.owes === 'rax') registers.words.set(space.savedRax(address), 2 * RAX);
      registers.setPc(position.pc);
      registers.write(tid);
      if (info !== null) correctAddress(info, address, position.pc);
      break;
    }
    thread.mode = 'stepping';
    thread.next = null;
    return true;
  }

  /** False: it has ended. Signals that come are held. */
  #waitForStep(thread: TracedThread): boolean {
    const { tid } = thread;
    for (;;) {
      const stop = waitForTracee(tid);
      if (stop === null) continue;
      if (stop.tid === 0) return false;
      const { status } = stop;
      const event = status >>> 16;
      if ((status & 0xff) !== 0x7f || event === EVENT_EXIT) {
        this.#take(tid, status);
        return false;
      }
      const signal = (status >> 8) & 0xff;
      if (event === 0) {
        const code = signal === SIGTRAP ? ptraceSignalCode(tid) : null;
        if (code === TRAP_TRACE || code === TRAP_BRKPT) return true;
        const info = new Int32Array(SIGINFO_WORDS);
        if (ptraceSignalInfo(tid, info)) thread.held.push(info);
      }
      if (!ptraceStep(tid, 0)) return false;
    }
  }

  #callIn(thread: TracedThread) {
    return (instruction: number, number: number, args: readonly number[]): number | null =>
      remoteCall(thread.tid, instruction, number, args, () => this.#waitForStep(thread));
  }

  #beforeCall(thread: TracedThread): void {
    if (!this.#registers.read(thread.tid)) return;
    thread.call = readCall(thread, this.#registers, this.#reader);
    if (endsCounters(thread.call)) thread.space?.take();
  }

  #callDone(thread: TracedThread): void {
    const { call, space } = thread;
    thread.call = null;
    const registers = this.#registers;
    if (call === null || !registers.read(thread.tid) || registers.isError) return;
    if (startsShadowStack(call) && space !== null) space.isStepOnly = true;
    const changed = changedMemory(call, registers);
    if (changed !== null) this.#memoryChanged(thread, changed.start, changed.size);
  }

  /**
   * What was translated from there is forgotten, also by threads that execute it
   * now, before this one goes on.
   */
  #memoryChanged({ tid, memory }: TracedThread, start: number, size: number): void {
    for (const space of memory.idle) if (space.hasChanged(start, size)) space.isStale = true;
    for (const other of this.#threads.all()) {
      const { space } = other;
      if (other.memory !== memory || space?.hasChanged(start, size) !== true) continue;
      space.isStale = true;
      if (other.tid === tid || other.mode !== 'translated' || !ptraceInterrupt(other.tid)) continue;
      while (this.#threads.has(other.tid) && space.isStale) {
        const stop = waitForTracee(other.tid);
        if (stop?.tid === 0) break;
        if (stop !== null) this.#take(stop.tid, stop.status);
        if (other.mode !== 'translated') break;
      }
    }
  }

  #follow(thread: TracedThread, event: number): void {
    const tid = ptraceEventMessage(thread.tid);
    const flags = cloneFlags(thread.call, event);
    const isBorrower = (flags & CLONE_VFORK) !== 0 && (flags & CLONE_VM) !== 0;
    const sharesMemory = (flags & CLONE_VM) !== 0;
    const child = this.#add(tid, sharesMemory ? thread.memory : new SharedMemory());
    this.#sink?.birth(tid, thread.tid);
    child.isBorrower = isBorrower || (thread.isBorrower && sharesMemory);
    if (!sharesMemory) child.space = thread.space?.copyFor(tid) ?? null;
    const early = this.#early.get(tid);
    this.#early.delete(tid);
    if (early !== undefined) this.#take(tid, early);
  }

  /** Whoever called exec has the number of its process now, and all other threads are gone. */
  #exec(thread: TracedThread): void {
    const { tid } = thread;
    const formerTid = ptraceEventMessage(tid);
    const former = this.#threads.get(formerTid) ?? thread;
    if (thread.mode !== 'waiting' && former.next !== null) this.#all.step(formerTid, former.next, null);
    if (formerTid !== tid) this.#forget(formerTid);
    this.#reader.forget(tid);
    this.#sink?.exec(tid, formerTid);
    // Its memory is another one, and nobody else's.
    this.#threads.dropSpace(thread);
    thread.memory = new SharedMemory();
    thread.isBorrower = false;
    thread.mode = 'stepping';
    thread.next = null;
    thread.call = null;
  }

  /** It ends; its memory is there for the last time. */
  #exiting(thread: TracedThread): void {
    const { space } = thread;
    const registers = this.#registers;
    const isRead = registers.read(thread.tid);
    // Of a thread that is killed while it stands here, nobody is told but its end, and perhaps too late.
    if (!isRead || registers.get(ORIG_RAX) !== CALL_EXIT) this.#threads.takeAll(thread.memory);
    if (space === null) return;
    if (thread.mode === 'translated' && isRead) {
      const position = space.positionAt(registers.pc);
      if (position !== null)
        space.settle(position.isCounted ? position.block : null, position.done, position.pc);
    }
    space.take();
    if (thread.mode === 'translated') thread.mode = 'waiting';
    thread.memory.idle.push(space);
    thread.space = null;
  }

  #end(tid: number, status: number): void {
    const thread = this.#threads.get(tid);
    const endSignal = status & 0x7f;
    const wasKilledBefore = endSignal !== 0 && endSignal === thread?.givenSignal;
    // exit and its like, and a call in which it was killed, were begun and did not come back.
    if (thread?.next?.isSystemCall === true && !wasKilledBefore) this.#all.step(tid, thread.next, null);
    this.#early.delete(tid);
    thread?.space?.take();
    this.#sink?.end(tid);
    this.#forget(tid);
    // Their parent will not tell of them any more.
    if (this.#threads.size > 0) return;
    for (const [early, earlyStatus] of [...this.#early]) {
      this.#early.delete(early);
      this.#add(early, new SharedMemory());
      this.#take(early, earlyStatus);
    }
  }

  #forget(tid: number): void {
    this.#threads.forget(tid);
    this.#reader.forget(tid);
  }

  /** All back to their own code, then free. */
  #detachAll(): void {
    for (const { tid } of this.#threads.all()) ptraceInterrupt(tid);
    while (this.#threads.size > 0) {
      const stop = waitForTracee();
      if (stop === null) continue;
      if (stop.tid === 0) return;
      const { tid, status } = stop;
      if ((status & 0xff) !== 0x7f) this.#end(tid, status);
      else this.#letGo(this.#add(tid), status);
    }
  }

  #letGo(thread: TracedThread, status: number): void {
    const { tid } = thread;
    const signal = (status >> 8) & 0xff;
    const event = status >>> 16;
    if (event === EVENT_FORK || event === EVENT_VFORK || event === EVENT_CLONE) this.#follow(thread, event);
    else if (event === EVENT_EXEC) this.#exec(thread);
    else if (event === EVENT_EXIT) {
      this.#exiting(thread);
      this.#detach(thread, 0);
      return;
    }
    if (thread.mode === 'translated') {
      this.#letGoTranslated(thread, event, signal);
      return;
    }
    if (event === 0 && signal === SIGTRAP) {
      const code = ptraceSignalCode(tid);
      const isStep = code === TRAP_TRACE || code === TRAP_BRKPT;
      if (isStep || code === HANDLER_ENTERED) {
        this.#stepDone(thread, isStep);
        this.#freeMemory(thread);
        this.#detach(thread, thread.held.shift()?.[0] ?? 0);
        return;
      }
    }
    if (event === 0 && thread.mode !== 'waiting') this.#stepDone(thread, 'if-moved');
    if (event === 0) {
      this.#detach(thread, signal);
      return;
    }
    // The trap of a step that was done comes next: it must not come without a tracer.
    if (isSignalPending(tid, SIGTRAP)) {
      ptraceContinue(tid, 0);
      return;
    }
    if (event === EVENT_STOP) this.#freeMemory(thread);
    this.#detach(thread, 0);
  }

  #letGoTranslated(thread: TracedThread, event: number, signal: number): void {
    const { tid } = thread;
    if (event === EVENT_STOP && isInTrap(tid)) {
      ptraceContinue(tid, 0);
      return;
    }
    if (event === 0 && signal === SIGTRAP && ptraceSignalCode(tid) === SI_KERNEL) {
      const registers = this.#registers;
      if (!registers.read(tid)) return;
      const address = registers.pc - 1;
      const isEmptied = this.#hasEmptiedLog(thread, address);
      // The trap of an exit: it stands behind int3.
      if (isEmptied || thread.space!.positionAt(address)?.isClean === true) {
        if (!isEmptied) registers.setPc(address);
        registers.write(tid);
        if (!this.#leave(thread, null)) return;
        this.#freeMemory(thread);
        this.#detach(thread, 0);
        return;
      }
    }
    const info = new Int32Array(SIGINFO_WORDS);
    const isSignal = event === 0 && ptraceSignalInfo(tid, info);
    if (!this.#leave(thread, isSignal ? info : null)) return;
    if (isSignal) thread.held.unshift(info);
    const held = thread.held.shift();
    if (held === undefined) {
      this.#freeMemory(thread);
      this.#detach(thread, 0);
      return;
    }
    ptraceSetSignalInfo(tid, held);
    this.#detach(thread, held[0]!);
  }

  #freeMemory(thread: TracedThread): void {
    const { space } = thread;
    if (space === null || thread.isBorrower) return;
    space.unmap(this.#callIn(thread));
    for (const idle of thread.memory.idle.splice(0)) {
      idle.unmap(this.#callIn(thread));
      idle.close();
    }
  }

  #detach(thread: TracedThread, signal: number): void {
    thread.space?.take();
    ptraceDetach(thread.tid, signal);
    this.#forget(thread.tid);
  }
}
