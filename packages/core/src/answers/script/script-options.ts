import type { OptionNames } from '../../base/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import type { ScanOptions } from '../../file-formats/perfdata/index.ts';
import type { SampleFilter } from '../../profile/ingest/index.ts';
import type { ProfileMeta } from '../../profile/tables/index.ts';
import type { RecordKind } from '../record-text/kinds.ts';
import type { InstructionReader } from './branch-blocks.ts';
import type { FieldChoice } from './fields.ts';

/** Options of `writeScript()`. */
export interface ScriptOptions extends Omit<ScanOptions, 'onChunk' | 'unordered'> {
  /** Where files are found that have names of functions. */
  symbols: SymbolDriver;
  /** As in `ingestPerfData`. */
  acceptUnverified?: (meta: ProfileMeta) => boolean;
  /** Which fields are printed. Default: those of perf. */
  fields?: FieldChoice | null;
  /** Times with nine digits instead of six. */
  nanoseconds?: boolean;
  /** Times since the first line (`relative`), or since the line before (`differences`). Not in JSON. */
  times?: 'absolute' | 'relative' | 'differences';
  /** Print at most this many frames of a call chain: the innermost ones. */
  maxStack?: number;
  /** Print call chains where samples have them (default). */
  callChains?: boolean;
  /** One JSON object a line instead of perf's form. */
  json?: boolean;
  /** Show functions of JavaScript as their sources have them, where source maps tell it (default). */
  sourceMaps?: boolean;
  /** Which samples are printed. Default: all. */
  filter?: SampleFilter;
  /**
   * Only samples that were in one of these functions, by names as `topFunctions` takes them. Default: all.
   */
  functions?: ReadonlySet<string>;
  /** Pieces hold lines of one event each, and are written with it. Default: all lines in order. */
  perEvent?: boolean;
  /** Records that are printed among the samples: `['task', 'mmap']`. Default: none. */
  records?: readonly RecordKind[];
  /** Print only the first N samples. The rest of the recording is not read. */
  limit?: number;
  /**
   * Call chains show the functions that were inlined, as debug information has them. Default: in those that
   * were unwound out of copies of user stacks, as in perf.
   */
  inlined?: boolean;
  /** With the field `srcline`: whole paths in place of names of files. */
  fullPaths?: boolean;
  /** Fill up the names of binaries to this width where calls are indented. */
  dsoWidth?: number;
  /** @internal Tells instructions apart, for the code between branches. */
  instructions?: InstructionReader;
}

export const SCRIPT_OPTIONS: OptionNames<ScriptOptions> = {
  symbols: true,
  acceptUnverified: true,
  fields: true,
  nanoseconds: true,
  times: true,
  maxStack: true,
  callChains: true,
  json: true,
  sourceMaps: true,
  filter: true,
  functions: true,
  perEvent: true,
  limit: true,
  inlined: true,
  fullPaths: true,
  dsoWidth: true,
  records: true,
  instructions: true,
  signal: true,
  onProgress: true,
};
