import type { Output } from '../../common/output.ts';
import { openTextFile, type TextFile } from '../shared/text-file.ts';
import type { StatSettings } from './settings.ts';

/** Where the result goes: standard error, as with perf, or a file, or standard output for `-`. */
export async function openResult(
  { output, append }: Pick<StatSettings, 'output' | 'append'>,
  out: Output,
  err: Output,
): Promise<TextFile> {
  if (output === null) return { output: err, close: () => {} };
  if (output === '-') return { output: out, close: () => {} };
  return await openTextFile('stat', output, err, append);
}
