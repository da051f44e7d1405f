import { closeSync } from 'node:fs';
import { openOutputFile } from '../../../host/files/index.ts';
import { descriptorSink, Output } from '../../common/output.ts';
import { tellWaitForReader } from './stop-signals.ts';

export interface TextFile {
  readonly output: Output;
  /** Writes what is left, and closes the file. */
  close(): void;
}

/** A file, or a pipe whose reader is waited for, that a verb writes its answer into. */
export async function openTextFile(
  verb: string,
  path: string,
  err: Output,
  append: boolean | undefined = false,
): Promise<TextFile> {
  const descriptor = await openOutputFile(path, {
    append,
    onWait: () => tellWaitForReader(verb, path, err),
  });
  const output = new Output(descriptorSink(descriptor, path));
  return {
    output,
    close: () => {
      output.flush();
      closeSync(descriptor);
    },
  };
}
