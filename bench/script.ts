/** Promise: `script` at least three times as fast as `perf script`, in samples per second. */
import { compare, printComparison } from './measure.ts';
import { benchRecording, COUNTERPOINT } from './recording.ts';

export function benchScript(): void {
  const path = benchRecording();
  printComparison(
    compare(
      'script with call chains',
      [COUNTERPOINT, 'script', '-i', path],
      ['perf', 'script', '-i', path],
      3,
    ),
  );
  printComparison(
    compare('script -G', [COUNTERPOINT, 'script', '-G', '-i', path], ['perf', 'script', '-G', '-i', path], 3),
  );
}
