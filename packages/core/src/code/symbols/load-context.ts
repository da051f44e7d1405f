import type { ByteSource, Diagnostic } from '../../base/index.ts';
import type { PerfMap } from '../jit/index.ts';
import type { SymbolDriver } from './driver.ts';

/** The code whose names are wanted. `unknown` has none. */
export interface CodeBinary {
  /** As the recording names it. */
  path: string;
  /** Lower-case hex as recorded, or empty. */
  buildId: string;
  /** What kind of code it is. */
  kind: 'user' | 'kernel' | 'module' | 'vdso' | 'jit' | 'unknown';
  /** A process that had it mapped, -1 for the kernel. */
  pid: number;
}

/** Options of `loadCodeSymbols()`. */
export interface LoadOptions {
  /**
   * Recorded address of a symbol of the kernel (`_text`, `_stext`): tells how far KASLR has moved it since.
   */
  kernelReference?: { symbol: string; address: number } | null;
  /** For modules: build id of the kernel they were loaded into, which names the kallsyms to ask for. */
  kernelBuildId?: string;
  /** For modules: where the module was loaded, signed. */
  moduleStart?: number;
  /** A file that travels with the recording; null where it has none. Comes before the driver's. */
  recordedFile?: (kind: number, pid: number) => Promise<ByteSource | null>;
  /** When a process began, in milliseconds since 1970: a map on disk may be older. Null: not known. */
  startMs?: (pid: number) => number | null;
  /** A map of generated code that has been read already. */
  perfMap?: (pid: number) => PerfMap | null;
  /** Why a dump of generated code names nothing, of processes that wrote one. */
  dumpProblems?: (pid: number) => readonly Diagnostic[];
  /** False: names are given only where a build id proves that they are right. */
  acceptUnverified?: boolean;
  /**
   * Raw name to the name for people; by default C++ and Rust names in perf's form. Not used
   * for the kernel and JIT code.
   */
  demangle?: (name: string) => string;
}

/** What every kind of table needs to be loaded. */
export interface LoadContext {
  binary: CodeBinary;
  driver: SymbolDriver;
  options: LoadOptions;
  demangle(name: string): string;
  report(code: string, detail: string, remedy?: string): void;
  diagnostics: Diagnostic[];
}
