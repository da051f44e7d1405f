/** Numbers of x86-64 (asm/unistd_64.h) of the system calls that change what a tracer must know. */
export const CALL_MMAP = 9;
export const CALL_MPROTECT = 10;
export const CALL_MUNMAP = 11;
export const CALL_MREMAP = 25;
export const CALL_CLONE = 56;
export const CALL_EXECVE = 59;
/** It ends one thread, not its process. */
export const CALL_EXIT = 60;
export const CALL_ARCH_PRCTL = 158;
export const CALL_PKEY_MPROTECT = 329;
export const CALL_EXECVEAT = 322;
export const CALL_CLONE3 = 435;
const SIGRETURN = 15;
const SHMAT = 30;
const FORK = 57;
const VFORK = 58;
const SHMDT = 67;
const REMAP_FILE_PAGES = 216;

/** Of these, the tracer executes the program's own instruction. */
export const LEFT_TO_TRACER: readonly number[] = [
  CALL_MMAP,
  CALL_MPROTECT,
  CALL_MUNMAP,
  CALL_MREMAP,
  CALL_CLONE,
  CALL_EXECVE,
  CALL_ARCH_PRCTL,
  CALL_PKEY_MPROTECT,
  CALL_EXECVEAT,
  CALL_CLONE3,
  SIGRETURN,
  SHMAT,
  FORK,
  VFORK,
  SHMDT,
  REMAP_FILE_PAGES,
];

/** After these, other code may be at addresses that were seen before. */
export const CHANGES_MEMORY: ReadonlySet<number> = /* @__PURE__ */ new Set([
  CALL_MMAP,
  CALL_MPROTECT,
  CALL_MUNMAP,
  CALL_MREMAP,
  CALL_PKEY_MPROTECT,
  SHMAT,
  SHMDT,
  REMAP_FILE_PAGES,
]);
