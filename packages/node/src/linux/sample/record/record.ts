import { statSync } from 'node:fs';
import { type ByteStream, CounterpointError, optional } from '@counterpoint/core/base';
import { requireLinux } from '../../kernel/sys/index.ts';
import { CompressedOutput } from './compressed-output.ts';
import { DatedFiles } from './dated-files.ts';
import { FileOutput } from './file-output.ts';
import { HeldOutput } from './held-output.ts';
import { checkRecordOptions } from './option-tables.ts';
import type { RecordOptions, RecordResult } from './options.ts';
import type { RecordingOutput } from './output.ts';
import { PipeOutput } from './pipe-output.ts';
import { runRecorder } from './recorder.ts';
import { StreamOutput } from './stream-output.ts';
import { openCompressor } from './zstd-compressor.ts';

const STDOUT = 1;
const DEFAULT_BUFFER_BYTES = 64 * 2 ** 20;

/**
 * Record a command, processes, threads or CPUs into a perf.data file. `perf` can read the file, too.
 *
 * Resolves when the recording has ended for any reason, including an `AbortSignal`; the file
 * is then complete. Rejects with CounterpointError if nothing could be recorded
 * (`ERR_NO_TARGET`, `ERR_PERF_PERMISSION`, ...).
 */
export async function record(options: RecordOptions): Promise<RecordResult> {
  requireLinux('record()');
  checkRecordOptions('record()', options);
  const path = options.output ?? 'perf.data';
  return runRecorder(options, recordingOutput(path, options), path);
}

/** With what is done to it on its way: compressed, in files of their own. */
function recordingOutput(path: string, options: RecordOptions): RecordingOutput {
  const { compressionLevel, timestampFilename, switchOutput } = options;
  const open = (name: string): RecordingOutput => {
    const output = outputFor(name, options);
    if (compressionLevel === undefined) return output;
    return new CompressedOutput(output, openCompressor(compressionLevel), compressionLevel);
  };
  if (timestampFilename !== true && switchOutput === undefined) return open(path);
  if (path === '-')
    throw new CounterpointError(
      'ERR_OUTPUT_SWITCH',
      'a stream has no name to which a time could be added',
      'Record into a file (-o FILE).',
    );
  return new DatedFiles(path, open, switchOutput?.mostFiles);
}

/** Where a recording goes by its path: a file, a named pipe, or `-` for standard output. */
export function outputFor(
  path: string,
  { signal, onWaitForReader, bufferBytes }: Pick<RecordOptions, 'signal' | 'onWaitForReader' | 'bufferBytes'>,
): RecordingOutput {
  if (path === '-') return held(new PipeOutput(STDOUT), bufferBytes);
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true) return new FileOutput(path);
  const pipe = new PipeOutput(path, {
    ...optional({ signal }),
    onWait: () => onWaitForReader?.(path),
  });
  return held(pipe, bufferBytes);
}

/** What a pipe does not take at once waits in memory. */
function held(pipe: PipeOutput, bufferBytes: number = DEFAULT_BUFFER_BYTES): RecordingOutput {
  return bufferBytes === 0 ? pipe : new HeldOutput(pipe, bufferBytes);
}

/** A recording that can be read while it runs. */
export interface LiveRecording {
  /**
   * A perf.data stream, for `openPerfData` or `openRecording`; reading it holds the
   * recording's pace. Read it once.
   */
  stream: ByteStream;
  /** Resolves when the stream has ended. */
  finished: Promise<RecordResult>;
}

/** Record into a stream of this process instead of a file, to analyse the target while it runs. */
export function recordLive(options: Omit<RecordOptions, 'output' | 'maxSizeBytes'>): LiveRecording {
  requireLinux('recordLive()');
  checkRecordOptions('recordLive()', options);
  const output = new StreamOutput();
  const finished = runRecorder(options, output, 'stream').then(
    (result) => {
      output.end();
      return result;
    },
    (error) => {
      output.fail(error);
      throw error;
    },
  );
  // Who reads the stream gets the error there.
  finished.catch(() => {});
  return { stream: output.stream, finished };
}
