/**
 * Promises: `--help` under 100 ms, and a report of a small file no slower than before there were
 * several packages. COUNTERPOINT_BEFORE is the path of another version's `bin/counterpoint`: its
 * reports are measured in turn.
 */
import { fileURLToPath } from 'node:url';
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
  benchSmallReport(empty);
}

const SMALL = fileURLToPath(new URL('../fixtures/perfdata/plain.data', import.meta.url));

function benchSmallReport(emptyMs: number): void {
  const before = process.env['COUNTERPOINT_BEFORE'];
  const commands = [COUNTERPOINT, ...(before === undefined ? [] : [before])];
  const rounds = Array.from({ length: 3 }, () =>
    commands.map((command) => milliseconds([command, 'report', '--stdio', '-i', SMALL])),
  );
  const [ours, theirs] = commands.map((_, at) => median(rounds.map((round) => round[at]!)).toFixed(0));
  console.log(
    `report of 2 KB: ${ours} ms${theirs === undefined ? '' : `, before ${theirs} ms`} (node -e 0 alone: ${emptyMs.toFixed(0)} ms)`,
  );
}
