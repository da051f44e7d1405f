/**
 * What a mapping of a process holds, by the path that its record has: a file; the kernel's page
 * of code (`vdso`, `vsyscall`); memory in which code was made at run time (`jit`); or memory
 * that is no code's (`memory`).
 */
export type MappingKind = 'file' | 'vdso' | 'vsyscall' | 'jit' | 'memory';

/** Memory that holds no file: code there was made at run time. Names as perf takes them. */
const JIT_PATH = /^(?:\/\/anon|\/dev\/zero|\/anon_hugepage|\[anon:)/;
const NO_FILE_PATH = /^(?:\[stack|\[heap\]|\/SYSV|\[uprobes\]|\[vvar)/;

/** What a mapping holds, by its path as the kernel tells it (`MmapRecord`, /proc/PID/maps). */
export function mappingKind(path: string): MappingKind {
  if (JIT_PATH.test(path)) return 'jit';
  if (NO_FILE_PATH.test(path)) return 'memory';
  if (path === '[vdso]') return 'vdso';
  return path === '[vsyscall]' ? 'vsyscall' : 'file';
}
