/** Promise: `--help` under 100 ms. */
import { median, run } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

function milliseconds(command: readonly string[]): number {
  const times = Array.from({ length: 15 }, () => {
    const start = performance.now();
    run(command);
    return performance.now() - start;
  });
  return median(times.slice(3));
}

export function benchStart(): void {
  const empty = milliseconds([process.execPath, '-e', '0']);
  for (const words of [['--help'], ['record', '--help'], ['report', '--help'], ['--version']]) {
    const ms = milliseconds([COUNTERPOINT, ...words]);
    console.log(
      `counterpoint ${words.join(' ')}: ${ms.toFixed(0)} ms (node -e 0 alone: ${empty.toFixed(0)} ms)`,
    );
  }
}
