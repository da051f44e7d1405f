import { closeSync, fstatSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { CounterpointError, type Damage, type ProgressListener } from '@counterpoint/core/base';
import { isHistory, openHistory, writeHistory, writePerfDataOf } from '@counterpoint/core/history';
import type { LossEntry } from '@counterpoint/core/loss';
import { isOutputFailure, openFailure, openOutputFile, WriteError } from '../files/index.ts';
import { type FileSource, openFileSource } from '../locate/index.ts';

export interface ConvertOptions {
  /** A history gets this number for its first record; default 0. */
  firstSequence?: number;
  signal?: AbortSignal;
  onProgress?: ProgressListener;
}

export interface Converted {
  /** What was written. */
  kind: 'history' | 'perf.data';
  records: number;
  bytes: number;
  /** What the input lacks at its end: the output says so, too. */
  loss: LossEntry[];
  /** What was wrong in the input. */
  damage: Damage[];
}

/**
 * A perf.data file as a history of fixed-size records, or a history as a perf.data file: what `input` is says
 * which. Where it fails, no file is left.
 */
export async function convertRecording(
  input: string,
  output: string,
  options: ConvertOptions = {},
): Promise<Converted> {
  const source = await openFileSource(input);
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
      return isHistory(await source.read(0, 8))
        ? await toPerfData(source, fd)
        : await toHistory(source, fd, options);
    } catch (error) {
      if (fstatSync(fd).isFile()) unlinkSync(output);
      throw isOutputFailure(error) ? new WriteError(output, error) : error;
    } finally {
      closeSync(fd);
    }
  } finally {
    await source.close();
  }
}

async function toHistory(source: FileSource, fd: number, options: ConvertOptions): Promise<Converted> {
  const { strideBytes: _, ...written } = await writeHistory(source, (piece) => writeAll(fd, piece), options);
  return { kind: 'history', ...written };
}

async function toPerfData(source: FileSource, fd: number): Promise<Converted> {
  const history = await openHistory(source);
  const { header, records, bytes } = await writePerfDataOf(history, (piece) => writeAll(fd, piece));
  writeSync(fd, header, 0, header.length, 0);
  return { kind: 'perf.data', records, bytes, loss: [], damage: history.damage };
}

function writeAll(fd: number, piece: Uint8Array): void {
  for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
}

/** The output is emptied first. */
function refuseSame(input: string, output: string): void {
  const [from, to] = [input, output].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (from !== undefined && to !== undefined && from.dev === to.dev && from.ino === to.ino)
    throw new CounterpointError(
      'ERR_OUTPUT',
      `${output} is the input`,
      'Give the output another name: -o FILE.',
    );
}
