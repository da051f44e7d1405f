import { closeSync } from 'node:fs';
import { openOutputFile } from '../../files/index.ts';
import type { Output as OutputType } from '../common/output.ts';
import { descriptorSink, Output } from '../common/output.ts';
import { tellWaitForReader } from '../common/stop-signals.ts';
import type { StatSettings } from './settings.ts';

/** Where the result goes: standard error, as with perf, or a file, or standard output for `-`. */
export async function openResult(
  { output, append }: Pick<StatSettings, 'output' | 'append'>,
  out: OutputType,
  err: OutputType,
): Promise<{ output: OutputType; close: () => void }> {
  if (output === null) return { output: err, close: () => {} };
  if (output === '-') return { output: out, close: () => {} };
  const descriptor = await openOutputFile(output, {
    append,
    onWait: () => tellWaitForReader('stat', output, err),
  });
  const file = new Output(descriptorSink(descriptor, output));
  return {
    output: file,
    close: () => {
      file.flush();
      closeSync(descriptor);
    },
  };
}
