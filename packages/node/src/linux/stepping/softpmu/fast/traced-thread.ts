import { readFileSync } from 'node:fs';
import { CALL_CLONE, CALL_CLONE3 } from '../../code-cache/index.ts';
import type { NextInstruction } from '../next-instruction.ts';
import { EVENT_FORK, EVENT_VFORK } from './ptrace-events.ts';
import type { TranslatedSpace } from './translated-space.ts';

/** linux/sched.h. */
export const CLONE_VM = 0x100;
export const CLONE_VFORK = 0x4000;
const FORK = 57;
const VFORK = 58;

export interface SystemCall {
  /** -1: not by `syscall`, so the numbers are others. */
  number: number;
  first: number;
  second: number;
  /** Of clone3, whose flags are in memory. */
  cloneFlags: number;
}

/** The memory of one process: threads that share it have the same one. */
export class SharedMemory {
  /** What was translated for threads that have ended: for those to come. */
  readonly idle: TranslatedSpace[] = [];
}

export interface TracedThread {
  readonly tid: number;
  /** `waiting`: it runs freely until its exec, or its end. */
  mode: 'waiting' | 'stepping' | 'translated';
  /** Its own: no thread executes what is translated for another one. */
  space: TranslatedSpace | null;
  memory: SharedMemory;
  /** Its memory is its parent's, who waits, until it executes another program. It is stepped. */
  isBorrower: boolean;
  /** When it is stepped: where it stood when it was looked at last, and what it was told to execute. */
  pc: number;
  next: NextInstruction | null;
  /** The signal that it was told to take. */
  givenSignal: number;
  /** The system call that it is stepped into. */
  call: SystemCall | null;
  /** Signals that came while it went on to a place that the program knows. */
  held: Int32Array[];
}

export function newThread(tid: number, memory: SharedMemory): TracedThread {
  return {
    tid,
    mode: 'stepping',
    space: null,
    memory,
    isBorrower: false,
    pc: 0,
    next: null,
    givenSignal: 0,
    call: null,
    held: [],
  };
}

export const makesProcess = (number: number): boolean =>
  number === FORK || number === VFORK || number === CALL_CLONE || number === CALL_CLONE3;

/** With which flags it has just made a thread or process; `event` says what it is to the kernel. */
export function cloneFlags(call: SystemCall | null, event: number): number {
  if (call?.number === CALL_CLONE) return call.first;
  if (call?.number === CALL_CLONE3) return call.cloneFlags;
  if (call?.number === FORK || event === EVENT_FORK) return 0;
  return event === EVENT_VFORK ? CLONE_VM | CLONE_VFORK : CLONE_VM;
}

/** The process of a thread: 0 when it is gone. */
export function threadGroup(tid: number): number {
  try {
    return Number(/^Tgid:\t(\d+)$/m.exec(readFileSync(`/proc/${tid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** A signal that tells of the address it came from: of the program's, not of ours. */
export function correctAddress(info: Int32Array, from: number, to: number): void {
  const words = new Uint32Array(info.buffer);
  if (info[2]! <= 0 || words[4]! + words[5]! * 2 ** 32 !== from) return;
  words[4] = to >>> 0;
  words[5] = Math.floor(to / 2 ** 32);
}
