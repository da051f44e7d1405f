import { closeSync, openSync } from 'node:fs';
import type { Output as OutputType } from './output.ts';
import { descriptorSink, Output } from './output.ts';
import type { StatSettings } from './stat-settings.ts';

/** Where the result goes: standard error, as with perf, or a file, or standard output for `-`. */
export function openResult(
  { output, append }: Pick<StatSettings, 'output' | 'append'>,
  out: OutputType,
  err: OutputType,
): { output: OutputType; close: () => void } {
  if (output === null) return { output: err, close: () => {} };
  if (output === '-') return { output: out, close: () => {} };
  const descriptor = openSync(output, append ? 'a' : 'w');
  const file = new Output(descriptorSink(descriptor));
  return {
    output: file,
    close: () => {
      file.flush();
      closeSync(descriptor);
    },
  };
}
