import { closeSync, fstatSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  type ByteSource,
  CounterpointError,
  checkArgument,
  type Damage,
  type ProgressListener,
} from '@counterpoint/core/base';
import { isHistory, openHistory, writeHistory, writePerfDataOf } from '@counterpoint/core/history';
import type { LossEntry } from '@counterpoint/core/loss';
import { openPerfData } from '@counterpoint/core/perfdata';
import { isOutputFailure, openFailure, openOutputFile, WriteError } from '../files/index.ts';
import { isBesideRings, openFileSource, openRecordingDirectory } from '../locate/index.ts';
import { checkOptions, FUNCTION, type OptionsOf, SIGNAL, wholeNumberFrom } from '../options/index.ts';

/** Options of `convertRecording()`. */
export interface ConvertOptions {
  /** A history gets this number for its first record; default 0. */
  firstSequence?: number;
  /** Ends the making of a history, which then rejects with its reason. No file is left. */
  signal?: AbortSignal;
  /** Called now and then while a history is made, with how much of the input is read. */
  onProgress?: ProgressListener;
}

const OPTIONS: OptionsOf<ConvertOptions> = {
  firstSequence: wholeNumberFrom(0),
  signal: SIGNAL,
  onProgress: FUNCTION,
};

/** What a conversion gave. */
export interface Converted {
  /** What was written. */
  kind: 'history' | 'perf.data';
  /** How many records were written. */
  records: number;
  /** Size of the output. */
  bytes: number;
  /** What the input lacks at its end: the output says so, too. */
  loss: LossEntry[];
  /** What was wrong in the input. */
  damage: Damage[];
}

/**
 * A perf.data file, or a directory of `perf record --threads`, as a history of fixed-size records; a history
 * as a perf.data file: what `input` is says which. Where it fails, no file is left.
 */
export async function convertRecording(
  input: string,
  output: string,
  options: ConvertOptions = {},
): Promise<Converted> {
  const paths = { input, output };
  for (const [name, path] of Object.entries(paths))
    checkArgument(typeof path === 'string', 'convertRecording()', name, path, 'the path of a file');
  checkOptions('convertRecording()', options, OPTIONS);
  options.signal?.throwIfAborted();
  const { source, close } = await openInput(input);
  try {
    refuseSame(input, output);
    const fd = await openOutputFile(output, { mode: 0o600 }).catch((error) => {
      throw openFailure(output, error);
    });
    try {
      if (!fstatSync(fd).isFile())
        throw new CounterpointError(
          'ERR_OUTPUT',
          `${output} is no file`,
          'Name a file: its beginning is written last.',
        );
      return (await isHistory(source))
        ? await toPerfData(source, fd, options)
        : await toHistory(source, fd, options);
    } catch (error) {
      if (fstatSync(fd).isFile()) unlinkSync(output);
      throw isOutputFailure(error) ? new WriteError(output, error) : error;
    } finally {
      closeSync(fd);
    }
  } finally {
    await close();
  }
}

async function openInput(path: string): Promise<{ source: ByteSource; close(): Promise<void> }> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    return { source: await openRecordingDirectory(path), close: async () => {} };
  const source = await openFileSource(path);
  try {
    // The header of a directory: what was recorded is in the files beside it.
    if ((await isBesideRings(path)) && (await openPerfData(source)).features.dirFormat !== undefined) {
      await source.close();
      return { source: await openRecordingDirectory(dirname(path)), close: async () => {} };
    }
  } catch (error) {
    await source.close();
    throw error;
  }
  return { source, close: () => source.close() };
}

async function toHistory(source: ByteSource, fd: number, options: ConvertOptions): Promise<Converted> {
  const { strideBytes: _, ...written } = await writeHistory(source, (piece) => writeAll(fd, piece), options);
  return { kind: 'history', ...written };
}

async function toPerfData(source: ByteSource, fd: number, options: ConvertOptions): Promise<Converted> {
  const history = await openHistory(source);
  const { header, records, bytes } = await writePerfDataOf(history, (piece) => writeAll(fd, piece), options);
  writeSync(fd, header, 0, header.length, 0);
  return { kind: 'perf.data', records, bytes, loss: [], damage: history.damage };
}

function writeAll(fd: number, piece: Uint8Array): void {
  for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
}

/** The output is emptied first. */
function refuseSame(input: string, output: string): void {
  const [from, to] = [input, output].map((path) => statSync(path, { throwIfNoEntry: false }));
  const isPart = from?.isDirectory() === true && resolve(dirname(output)) === resolve(input);
  if (isPart && to !== undefined)
    throw new CounterpointError(
      'ERR_OUTPUT',
      `${output} is a part of the input`,
      'Write elsewhere: -o FILE.',
    );
  if (from !== undefined && to !== undefined && from.dev === to.dev && from.ino === to.ino)
    throw new CounterpointError(
      'ERR_OUTPUT',
      `${output} is the input`,
      'Give the output another name: -o FILE.',
    );
}
