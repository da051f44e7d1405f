import type { ByteSource, Diagnostic } from '../base/index.ts';

/** What a file is wanted for. */
export type FileNeed =
  | 'binary'
  | 'debug'
  | 'kallsyms'
  | 'modules'
  | 'vdso'
  | 'perf-map'
  | 'jitdump'
  | 'kcore';

/** A question for a file. Core never opens one: a driver answers, from disk, a network or memory. */
export interface FileRequest {
  /** What the file is needed for. */
  need: FileNeed;
  /** Path as the recording names it; for `debug` that of the binary it belongs to. */
  path: string;
  /** Lower-case hex of the build id wanted, or empty where it is not known. */
  buildId: string;
  /** The process that had it mapped, -1 for the kernel: containers have files and pids of their own. */
  pid: number;
  /** False where there is something to fall back on: not worth a download. */
  required: boolean;
  /**
   * For `debug`: file name and checksum that the binary gives for its debug file, where it has no build id.
   */
  debugLink?: { name: string; crc: number } | null;
}

/** A file's bytes. Whoever asked for it closes it. */
export type OpenedFile = ByteSource & { close?(): Promise<void> };

/** Finds and opens the files that symbols are read from. */
export interface SymbolDriver {
  /**
   * The file, or null where there is none. Where several exist, one with the build id wanted; where none
   * has it, any: the asker checks and says so. Reasons that only the driver knows (not allowed, download
   * failed) go to `diagnostics`.
   */
  open(request: FileRequest, diagnostics: Diagnostic[]): Promise<OpenedFile | null>;
}
