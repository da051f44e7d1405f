import { closeSync, fstatSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';
import { isOutputFailure, openFailure, openOutputFile, WriteError } from '../../../host/files/index.ts';
import type { Output } from '../../common/output.ts';

/** Where a changed recording goes. */
export interface InjectedOutput {
  /** A file, whose beginning can be written once more; else a stream. */
  readonly isFile: boolean;
  write(bytes: Uint8Array): void;
  /** Of a file. */
  writeAt(bytes: Uint8Array, offset: number): void;
  finish(): void;
  /** It is not whole: no file is left. */
  abandon(): void;
}

/** `-` is a stream; so is what is no regular file. */
export async function openInjected(path: string, input: string, out: Output): Promise<InjectedOutput> {
  if (path === '-') {
    return {
      isFile: false,
      write: (bytes) => out.binary(bytes),
      writeAt: () => {},
      finish: () => out.flush(),
      abandon: () => {},
    };
  }
  refuseSame(path, input);
  const fd = await openOutputFile(path, { mode: 0o600 }).catch((error) => {
    throw openFailure(path, error);
  });
  const isFile = fstatSync(fd).isFile();
  const guard = (write: () => void) => {
    try {
      write();
    } catch (error) {
      throw isOutputFailure(error) ? new WriteError(path, error) : error;
    }
  };
  return {
    isFile,
    write: (bytes) =>
      guard(() => {
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
      }),
    writeAt: (bytes, offset) => guard(() => void writeSync(fd, bytes, 0, bytes.length, offset)),
    finish: () => closeSync(fd),
    abandon: () => {
      closeSync(fd);
      if (isFile) unlinkSync(path);
    },
  };
}

/** The output is emptied first. */
function refuseSame(path: string, input: string): void {
  const [from, to] = [input, path].map((one) => statSync(one, { throwIfNoEntry: false }));
  if (from === undefined || to === undefined || from.dev !== to.dev || from.ino !== to.ino) return;
  throw new CounterpointError('ERR_OUTPUT', `${path} is the input`, 'Give the output another name: -o FILE.');
}
