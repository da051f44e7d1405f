import { constants } from 'node:os';
import { pendingSignalCode } from '../../../kernel/sys/index.ts';

/** linux/ptrace.h: why a tracee stopped. */
export const EVENT_FORK = 1;
export const EVENT_VFORK = 2;
export const EVENT_CLONE = 3;
export const EVENT_EXEC = 4;
export const EVENT_EXIT = 6;
export const EVENT_STOP = 128;
/** Children, exec, and the end, at which memory is still there. */
export const TRACE_OPTIONS = 0x1e | 0x40;

/** `si_code` of a SIGTRAP: after a system call, after any other instruction, and of int3. */
export const TRAP_BRKPT = 1;
export const TRAP_TRACE = 2;
export const SI_KERNEL = 0x80;
const { SIGTRAP, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU } = constants.signals;
/** ptrace_notify(SIGTRAP): a signal's handler was entered, and nothing was executed yet. */
export const HANDLER_ENTERED = SIGTRAP;
export const STOPPING: ReadonlySet<number> = new Set([SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU]);

/** It has executed an int3, and its signal comes next. */
export function isInTrap(tid: number): boolean {
  return pendingSignalCode(tid, SIGTRAP) === SI_KERNEL;
}
