/** What the decoding of a recording's trace is asked for, and what a first pass finds of it. */
import type { ByteSource, ByteSourceInput } from '@counterpoint/core/base';
import type { PerfEventAttr } from '@counterpoint/core/records';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import type { PtInfo } from '../../pt/index.ts';
import type { AuxIndex } from '../auxtrace/index.ts';
import type { ItraceOptions } from './itrace-options.ts';

/** Where a recording was made; null where it does not say. */
export interface RecordedMachine {
  /** The host's name (`HEADER_HOSTNAME`). */
  hostname: string | null;
  /** The kernel's release (`HEADER_OSRELEASE`): `6.1.0-18-amd64`. */
  osRelease: string | null;
}

/** What `withTrace` needs beside a reader. */
export interface TraceRequest {
  /** The recording itself, as it was opened: trace data is read where it stands. */
  bytes: ByteSourceInput;
  /** Where the code comes from: `open` answers null for a file that is not at hand. */
  files: SymbolDriver;
  /** What is made out of the trace: `parseItrace('i100us')`. */
  options: ItraceOptions;
  /** Takes the log, where `options.log` asks for one. */
  writeLog?: (text: string) => void;
  /** May a file without a build id be taken for the one that was recorded, by its path? Default yes. */
  acceptUnverified?: (meta: RecordedMachine) => boolean;
}

/** A request whose bytes are a source. */
export type ReadyRequest = TraceRequest & { bytes: ByteSource };

/** What a first pass over a recording tells of its trace. */
export interface FoundTrace {
  readonly info: PtInfo;
  readonly index: AuxIndex;
  /** Of the trace's own events: a second pass over a pipe's records learns of them only on the way. */
  readonly attrs: readonly PerfEventAttr[];
}
