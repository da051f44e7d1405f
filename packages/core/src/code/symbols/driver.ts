import type { ByteSource, Diagnostic } from '../../base/index.ts';

/** What a file is wanted for. */
export type FileNeed =
  | 'binary'
  | 'debug'
  | 'shared-debug'
  | 'split-debug'
  | 'kallsyms'
  | 'modules'
  | 'vdso'
  | 'perf-map'
  | 'jitdump'
  | 'kcore'
  | 'script'
  | 'source-map';

/** A question for a file. Core never opens one: a driver answers, from disk, a network or memory. */
export interface FileRequest {
  /** What the file is needed for. */
  need: FileNeed;
  /**
   * Path as the recording names it; for `debug` that of the binary it belongs to. For `shared-debug` (which
   * dwz makes) and `split-debug` (`.dwo`, `.dwp`) that which the debug information names.
   */
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
  /**
   * For `shared-debug`: path of the file that names it, as the driver gave it, where the path is relative.
   */
  beside?: string;
  /**
   * For `perf-map` and `jitdump`: when its process began, in milliseconds since 1970, where the recording
   * tells. A file that was last written before that is of an earlier process with the same
   * number, and is not the one wanted.
   */
  startMs?: number | null;
}

/** A file's bytes. Whoever asked for it closes it. */
export type OpenedFile = ByteSource & {
  close?(): Promise<void>;
  /** Where the driver found it, for what is beside it. */
  readonly path?: string;
};

/** Finds and opens the files that symbols are read from. */
export interface SymbolDriver {
  /**
   * The file, or null if there is none. Where several exist, one with the build id wanted; where none
   * has it, any: the asker checks and says so. Reasons that only the driver knows (not allowed, download
   * failed) go to `diagnostics`.
   */
  open(request: FileRequest, diagnostics: Diagnostic[]): Promise<OpenedFile | null>;
}
