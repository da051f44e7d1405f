import { createReadStream, createWriteStream, fstatSync, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { hostname, release } from 'node:os';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { PERF_RECORD_STAT_CONFIG } from '@counterpoint/core/abi';
import type { Archive } from '@counterpoint/core/archive';
import {
  asByteInput,
  type ByteInput,
  type ByteSource,
  type ByteStream,
  CounterpointError,
  type Damage,
  type Diagnostic,
  optional,
} from '@counterpoint/core/base';
import { isHistory } from '@counterpoint/core/history';
import {
  type IngestOptions,
  type IngestResult,
  ingestPerfData,
  type SampleFilter,
} from '@counterpoint/core/ingest';
import {
  type EventGroup,
  mayHoldTrace,
  type OrderedRecord,
  openPerfData,
  type PerfDataReader,
  type RecordedEvent,
  type RecordSource,
  readRecords,
  type ScanOptions,
} from '@counterpoint/core/perfdata';
import type { ProfileMeta } from '@counterpoint/core/profile';
import {
  collectStats,
  type LoopOptions,
  type LoopsAnswer,
  readEventLoops,
  type ScriptOptions,
  type ScriptResult,
  type StatsAnswer,
  TraceKeys,
  writeScript,
} from '@counterpoint/core/query';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { FramelessCode, hasRawUserStacks, withUnwoundStacks } from '@counterpoint/core/unwind';
import type { ItraceOptions } from '@counterpoint/trace/perf';
import { openArchiveFile } from '../archive-files/index.ts';
import { passingFile } from '../leftovers/index.ts';
import {
  diskDriver,
  isBesideRings,
  kernelCoreOf,
  openFileSource,
  openRecordingDirectory,
} from '../locate/index.ts';
import {
  type Check,
  checkMade,
  checkOptions,
  either,
  FLAG,
  FUNCTION,
  listOf,
  OBJECT,
  type OptionsOf,
  objectOf,
  oneOf,
  required,
  SIGNAL,
  TEXT,
  wholeNumberFrom,
} from '../options/index.ts';
import { peekStream } from './peeked-stream.ts';

/** Options of `openRecording()`. */
export interface RecordingOptions {
  /** Where symbols come from; by default this machine's files. */
  symbols?: SymbolDriver;
  /**
   * The directory under which the recorded machine's files are (perf's --symfs), in the place
   * of this machine's own. On other systems than Linux, recorded paths lead to nothing without
   * it. Not heeded with `symbols`.
   */
  symfs?: string;
  /**
   * Keep a stream in a temporary file first, always or only where it has a hardware trace: the trace stands
   * behind the records that it belongs to, so that a stream that is not kept is read without it.
   */
  keepStream?: boolean | 'traced';
}

/** Options of `Recording.profile()`. */
export interface ProfileOptions
  extends Omit<IngestOptions, 'symbols' | 'framelessCode' | 'acceptUnverified' | 'sampleTexts'> {
  /**
   * What of tracepoints rows can be told apart by: `trace`, `sched:sched_switch.next_comm`. Read by
   * `topFunctions`, as sort keys.
   */
  traceKeys?: readonly string[];
  /** Which samples are counted. Default: all. */
  filter?: SampleFilter;
  /** What to make of a hardware trace; without it, it is left alone. */
  itrace?: ItraceOptions;
  /** Takes the log of decoding, where `itrace` asks for one. */
  writeTraceLog?: (text: string) => void;
}

/** Options of `Recording.script()`. */
export interface RecordingScriptOptions
  extends Omit<ScriptOptions, 'symbols' | 'acceptUnverified' | 'instructions'> {
  /** What to make of a hardware trace. Default: nothing; it is left alone. */
  itrace?: ItraceOptions;
  /** Takes the log of decoding, where `itrace` asks for one. */
  writeTraceLog?: (text: string) => void;
}

/** Options of `Recording.eventLoops()`. */
export interface RecordingLoopOptions
  extends LoopOptions,
    Pick<IngestOptions, 'filter' | 'signal' | 'onProgress'> {}

/** Options of `Recording.stats()`. */
export interface RecordingStatsOptions extends ScanOptions {
  /** What to make of a hardware trace. Default: nothing; it is left alone. */
  itrace?: ItraceOptions;
  /** Takes the log of decoding, where `itrace` asks for one. */
  writeTraceLog?: (text: string) => void;
}

const SCAN: OptionsOf<ScanOptions> = {
  signal: SIGNAL,
  onProgress: FUNCTION,
  unordered: FLAG,
  onChunk: FUNCTION,
};

const STATS: OptionsOf<RecordingStatsOptions> = { ...SCAN, itrace: OBJECT, writeTraceLog: FUNCTION };

const NUMBERS = setOf('number');
const TIME: Check = {
  expects: 'a bigint or null',
  accepts: (value) => typeof value === 'bigint' || value === null,
};
const FILTER: OptionsOf<SampleFilter> = {
  pids: NUMBERS,
  tids: NUMBERS,
  comms: setOf('string'),
  cpus: NUMBERS,
  fromNs: TIME,
  toNs: TIME,
  times: listOf(objectOf({ fromNs: required(TIME), toNs: required(TIME) }), 'a list of { fromNs, toNs }'),
  events: NUMBERS,
};

const PROFILE: OptionsOf<ProfileOptions> = {
  aggregate: FLAG,
  keepCpu: FLAG,
  innermostOnly: FLAG,
  branches: FLAG,
  sourceMaps: FLAG,
  debugInfo: oneOf(undefined, 'lines', 'inlines'),
  traceKeys: listOf(TEXT, 'a list of sort keys'),
  filter: objectOf(FILTER),
  itrace: OBJECT,
  writeTraceLog: FUNCTION,
  signal: SIGNAL,
  onProgress: FUNCTION,
};

const SCRIPT: OptionsOf<RecordingScriptOptions> = {
  signal: SIGNAL,
  onProgress: FUNCTION,
  fields: either(OBJECT, oneOf(null)),
  nanoseconds: FLAG,
  callChains: FLAG,
  sourceMaps: FLAG,
  json: FLAG,
  filter: objectOf(FILTER),
  functions: setOf('string'),
  perEvent: FLAG,
  records: listOf(TEXT, 'a list of kinds of records'),
  limit: wholeNumberFrom(1),
  times: oneOf('absolute', 'relative', 'differences'),
  maxStack: wholeNumberFrom(1),
  dsoWidth: wholeNumberFrom(0),
  inlined: FLAG,
  fullPaths: FLAG,
  itrace: OBJECT,
  writeTraceLog: FUNCTION,
};

const LOOPS: OptionsOf<RecordingLoopOptions> = {
  slowNs: wholeNumberFrom(0),
  limit: wholeNumberFrom(0),
  filter: objectOf(FILTER),
  signal: SIGNAL,
  onProgress: FUNCTION,
};

const OPEN: OptionsOf<RecordingOptions> = {
  symbols: OBJECT,
  symfs: TEXT,
  keepStream: either(FLAG, oneOf('traced')),
};

function setOf(type: 'number' | 'string'): Check {
  return {
    expects: `a Set of ${type}s`,
    accepts: (value) => value instanceof Set && [...value].every((item) => typeof item === type),
  };
}

/** A recording to ask questions of. Close it, or hold it with `await using`. */
export class Recording implements AsyncDisposable {
  /** How it was named: a path, `-`, or `bytes`. */
  readonly name: string;
  /** True where it can be read only once. */
  readonly isStream: boolean;
  readonly #input: ByteSource | ByteStream;
  readonly #closeInput: () => Promise<void>;
  readonly #driver: SymbolDriver;
  /** Of what the recording was made of. */
  readonly #damage: readonly Damage[];
  #first: PerfDataReader | null;
  /** The one that was handed out last: what it has read is known. */
  #latest: PerfDataReader;
  /** Holds the stream, where there is one. */
  readonly #streamReader: PerfDataReader | null;
  #closed = false;

  /** Use `openRecording`. */
  constructor(
    name: string,
    input: ByteSource | ByteStream,
    first: PerfDataReader,
    closeInput: () => Promise<void>,
    options: RecordingOptions,
    damage: readonly Damage[] = [],
  ) {
    checkMade(first, 'scan', 'a Recording', "const recording = await openRecording('perf.data');");
    this.name = name;
    this.#damage = damage;
    this.#input = input;
    this.isStream = Symbol.asyncIterator in input;
    this.#first = first;
    this.#latest = first;
    this.#streamReader = this.isStream ? first : null;
    this.#closeInput = closeInput;
    this.#driver = options.symbols ?? diskDriver(placesOf(options));
  }

  /** A reader at the start of the recording, for questions that are not here. */
  async reader(): Promise<PerfDataReader> {
    if (this.#closed)
      throw new CounterpointError(
        'ERR_CLOSED',
        `the recording ${this.name} has been closed`,
        'Open it again, and close it after the last question.',
      );
    const first = this.#first;
    this.#first = null;
    if (first !== null) return this.#withDamage(first);
    if (this.isStream) {
      throw new CounterpointError(
        'ERR_READ_ONCE',
        'a recording that comes through a pipe can be read only once',
        'Save it to a file first: `... > perf.data`.',
      );
    }
    this.#latest = await openPerfData(this.#input);
    return this.#withDamage(this.#latest);
  }

  #withDamage(reader: PerfDataReader): PerfDataReader {
    for (const { code, count, firstOffset } of this.#damage)
      for (let one = 0; one < count; one++) reader.damage.add(code, firstOffset);
    return reader;
  }

  /**
   * It has counts instead of samples. Of a stream, and of a file that was cut off,
   * this is known after reading.
   */
  get holdsCounts(): boolean {
    const { features, recordCounts } = this.#latest;
    return features.stat === true || recordCounts.has(PERF_RECORD_STAT_CONFIG);
  }

  /** Groups of more than one event that it was recorded with. Of a stream, this is known after reading. */
  get groups(): readonly EventGroup[] {
    return this.#latest.features.groups ?? [];
  }

  /** Answers for files that name its samples: what was given, this machine, or the archive that it is in. */
  get symbols(): SymbolDriver {
    return this.#driver;
  }

  /** What is in the file: samples, records by type, losses, damage. */
  async stats(options: RecordingStatsOptions = {}): Promise<StatsAnswer> {
    checkOptions('stats()', options, STATS);
    const { itrace: _, writeTraceLog: __, ...scan } = options;
    return collectStats(await this.#source(options), scan);
  }

  /** Every record as an owned object, in order of time. */
  async *records(options: Omit<ScanOptions, 'onChunk'> = {}): AsyncGenerator<OrderedRecord, void, undefined> {
    checkOptions('records()', options, SCAN);
    yield* readRecords(await this.reader(), options);
  }

  /** The whole recording as a profile, with symbols. */
  async profile(options: ProfileOptions = {}): Promise<IngestResult> {
    checkOptions('profile()', options, PROFILE);
    const { traceKeys = [], itrace: _, writeTraceLog: __, ...ingest } = options;
    return ingestPerfData(await this.#source(options), {
      ...ingest,
      ...(traceKeys.length === 0
        ? {}
        : { sampleTexts: (reader, places) => new TraceKeys(reader, traceKeys, places) }),
      symbols: this.#driver,
      framelessCode: new FramelessCode(this.#driver),
      acceptUnverified: isOfThisMachine,
    });
  }

  /** The turns of event loops, of a recording that was made for it (`eventLoops` of `record`). */
  async eventLoops(
    options: RecordingLoopOptions = {},
  ): Promise<{ answer: LoopsAnswer; diagnostics: Diagnostic[] }> {
    checkOptions('eventLoops()', options, LOOPS);
    return readEventLoops(await this.reader(), {
      ...options,
      symbols: this.#driver,
      framelessCode: new FramelessCode(this.#driver),
      acceptUnverified: isOfThisMachine,
    });
  }

  /** Every sample as text (or NDJSON), in large pieces of UTF-8, each borrowed until `write` is done. */
  async script(
    options: RecordingScriptOptions,
    write: (utf8: Uint8Array, event: RecordedEvent | null) => Promise<void> | void,
  ): Promise<ScriptResult> {
    checkOptions('script()', options, SCRIPT);
    checkOptions('script()', { write }, { write: required(FUNCTION) });
    const { itrace: _, writeTraceLog: __, ...printed } = options;
    const wantsCode = [...(options.fields?.set ?? []), ...(options.fields?.added ?? [])].some((field) =>
      field.startsWith('brstackinsn'),
    );
    const { X86Instructions } = wantsCode ? await import('./x86-instructions.ts') : {};
    return writeScript(
      await this.#source(options),
      {
        ...printed,
        ...(X86Instructions === undefined ? {} : { instructions: new X86Instructions() }),
        symbols: this.#driver,
        acceptUnverified: isOfThisMachine,
      },
      write,
    );
  }

  /** The records, with the samples of the hardware trace among them where those are asked for. */
  async #source({
    itrace: options,
    writeTraceLog: writeLog,
  }: Pick<RecordingStatsOptions, 'itrace' | 'writeTraceLog'>): Promise<RecordSource> {
    const reader = await this.reader();
    const input = this.#input;
    let source: RecordSource = reader;
    // The decoder is large, and most recordings have no trace.
    if (options !== undefined && !(Symbol.asyncIterator in input) && mayHoldTrace(reader)) {
      const { withTrace } = await import('@counterpoint/trace/perf');
      source = withTrace(reader, {
        bytes: input,
        files: this.#driver,
        options,
        acceptUnverified: isOfThisMachine,
        ...optional({ writeLog }),
      });
    }
    // The events of a stream come among its records, also where it was written into a file.
    if (!reader.isPipe && !reader.events.events.some(hasRawUserStacks)) return source;
    return withUnwoundStacks(source, { files: this.#driver, acceptUnverified: isOfThisMachine });
  }

  /** Closes the file. Closing twice does nothing; every other method throws ERR_CLOSED then. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#closeInput();
    // Not waited for: what is being read of a stream may never come.
    this.#streamReader?.close().catch(() => {});
  }

  /** The same as `close()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * A file without build ids is believed by its path only where the recording is of this machine and kernel.
 */
export function isOfThisMachine(meta: Pick<ProfileMeta, 'hostname' | 'osRelease'>): boolean {
  const sameHost = meta.hostname === null || meta.hostname === hostname();
  return sameHost && (meta.osRelease === null || meta.osRelease === release());
}

/**
 * Open a recording: a path or file URL of a file or of a directory (`perf record --threads`,
 * `--kcore`), `-` for standard input, bytes in any form, the files of a directory (`directorySource`),
 * or a stream of bytes (pipe mode). Rejects with CounterpointError if there is no recording
 * (`ERR_NO_FILE`, `ERR_NOT_PERF_DATA`, ...).
 */
export async function openRecording(
  input: string | URL | ByteInput,
  options: RecordingOptions = {},
): Promise<Recording> {
  checkOptions('openRecording()', options, OPEN);
  if (input instanceof URL) return openPath(fileURLToPath(input), options);
  if (typeof input !== 'string') {
    const source = asByteInput(input);
    if (!(Symbol.asyncIterator in source) && (await isHistory(source)))
      return openHistoryAsRecording(source, 'bytes', options);
    const name = Symbol.asyncIterator in source ? 'stream' : 'bytes';
    return new Recording(name, source, await openPerfData(source), async () => {}, options);
  }
  return input === '-' ? openStandardInput(options) : openPath(input, options);
}

async function openStandardInput(options: RecordingOptions): Promise<Recording> {
  if (fstatSync(0).isFile()) return openPath('/proc/self/fd/0', options, '-');
  return openReadStream(
    createReadStream('', { fd: 0, autoClose: false, highWaterMark: 1 << 20 }),
    '-',
    options,
  );
}

async function openPath(path: string, options: RecordingOptions, name = path): Promise<Recording> {
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw fileError(path, error);
  });
  if (facts.isDirectory()) return openDirectory(path, options, name);
  if (!facts.isFile()) {
    return openReadStream(createReadStream(path, { highWaterMark: 1 << 20 }), name, options);
  }
  const source = await openFileSource(path).catch((error: NodeJS.ErrnoException) => {
    throw fileError(path, error);
  });
  try {
    if (await isHistory(source)) {
      const recording = await openHistoryAsRecording(source, name, options);
      await source.close();
      return recording;
    }
    const opened = await openArchiveFile(source);
    if (opened !== null) return await openArchived(opened, name, options);
    const reader = await openPerfData(source);
    // The header of a directory: what was recorded is in the files beside it.
    if (reader.features.dirFormat !== undefined && (await isBesideRings(path))) {
      await source.close();
      return await openDirectory(dirname(path), options, name);
    }
    return new Recording(name, source, reader, () => source.close(), options);
  } catch (error) {
    await source.close();
    throw error;
  }
}

/**
 * What the archive has answers first; then this machine, where build ids say that a file is the right one.
 */
async function openArchived(
  { archive, close }: { archive: Archive; close(): Promise<void> },
  name: string,
  options: RecordingOptions,
): Promise<Recording> {
  const { recording, symbols } = archive;
  if (recording === null)
    throw new CounterpointError(
      'ERR_ARCHIVE',
      `${name} has binaries, and no recording: it is of perf archive`,
      `Put them into the cache with \`counterpoint archive --unpack ${name}\`, and name the recording itself.`,
    );
  const disk = options.symbols ?? diskDriver(placesOf(options));
  const driver: SymbolDriver = {
    open: async (request, diagnostics) =>
      (await symbols.open(request, diagnostics)) ?? disk.open(request, diagnostics),
  };
  const damage: Damage[] = archive.isCut ? [{ code: 'archive-cut', count: 1, firstOffset: 0 }] : [];
  const reader = await openPerfData(recording);
  return new Recording(name, recording, reader, close, { ...options, symbols: driver }, damage);
}

/** Its records are put together in memory: the file is not needed any more. */
async function openHistoryAsRecording(
  source: ByteSource,
  name: string,
  options: RecordingOptions,
): Promise<Recording> {
  const { recordingOfHistory } = await import('../history-files/index.ts');
  const made = await recordingOfHistory(source, name);
  return new Recording(
    name,
    made.source,
    await openPerfData(made.source),
    async () => {},
    options,
    made.damage,
  );
}

/**
 * What `perf record --threads` and `--kcore` make: several files, and maybe a copy of the kernel's memory.
 */
async function openDirectory(path: string, options: RecordingOptions, name: string): Promise<Recording> {
  const source = await openRecordingDirectory(path).catch((error: NodeJS.ErrnoException) => {
    throw fileError(path, error);
  });
  const kernelCore = options.symbols === undefined ? await kernelCoreOf(path) : null;
  const symbols = kernelCore === null ? {} : { symbols: diskDriver({ ...placesOf(options), kernelCore }) };
  return new Recording(name, source, await openPerfData(source), async () => {}, { ...options, ...symbols });
}

function placesOf({ symfs }: RecordingOptions): { symfs?: string } {
  return optional({ symfs });
}

/** The file has no name, and is gone with the recording. */
async function openKept(stream: ByteStream, name: string, options: RecordingOptions): Promise<Recording> {
  await using file = await passingFile('stream');
  await pipeline(stream, createWriteStream(file.path));
  return await openPath(file.path, options, name);
}

async function openReadStream(
  stream: ReadStream,
  name: string,
  options: RecordingOptions,
): Promise<Recording> {
  if (options.keepStream === true) return openKept(stream, name, options);
  try {
    const { hasTrace, bytes } =
      options.keepStream === 'traced' ? await peekStream(stream) : { hasTrace: false, bytes: stream };
    if (hasTrace) return await openKept(bytes, name, options);
    const reader = await openPerfData(bytes);
    return new Recording(name, bytes, reader, async () => void stream.destroy(), options);
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

function fileError(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'ENOENT') {
    return new CounterpointError(
      'ERR_NO_FILE',
      `there is no file ${path}`,
      'Record one with `counterpoint record -- COMMAND` (counts: `counterpoint stat record`), or name another with -i.',
    );
  }
  if (error.code === 'EACCES' || error.code === 'EPERM') {
    return new CounterpointError(
      'ERR_FILE_ACCESS',
      `${path} may not be read (${error.code})`,
      'Run as the owner of the file or as root, or change its mode.',
    );
  }
  return error;
}
