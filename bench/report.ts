/** Promise: `report --no-children` in at most half of `perf report --stdio`'s time, with no more memory. */
import { compare, printComparison } from './measure.ts';
import { benchRecording, COUNTERPOINT } from './recording.ts';

export function benchReport(): void {
  const path = benchRecording();
  const ours = [COUNTERPOINT, 'report', '--no-children', '-i', path];
  const perf = ['perf', 'report', '--stdio', '--no-children', '-i', path];
  printComparison(compare('report --no-children, against perf report --stdio --no-children', ours, perf));
  printComparison(
    compare('the same against perf without call graphs (-g none)', ours, [...perf, '-g', 'none']),
  );
  printComparison(
    compare(
      'report with children and call tree, against perf report --stdio',
      [COUNTERPOINT, 'report', '-g', '-i', path],
      ['perf', 'report', '--stdio', '-i', path],
    ),
  );
}
