import type { Diagnostic } from '@counterpoint/core/base';
import type { ItraceOptions } from './itrace-options.ts';
import type { PebsEvents } from './pebs-events.ts';

/** Letters that are read, and that Intel PT gives nothing for here, or less than perf: each is said. */
export function lettersNotDone(
  options: ItraceOptions,
  pebs: PebsEvents | null,
  found: { hasLog: boolean; hasCyc: boolean },
): Diagnostic[] {
  const notes: Diagnostic[] = [];
  const note = (letter: string, detail: string, remedy: string): void => {
    notes.push({ code: 'itrace-letter', path: `--itrace ${letter}`, detail, remedy });
  };
  if (options.other && pebs !== null && pebs.unknown > 0)
    note(
      'o',
      `${pebs.unknown} PEBS records do not say to which of several events they belong; they are counted for the first`,
      'Record one such event at a time.',
    );
  if (options.log !== null && !found.hasLog)
    note('d', 'nothing takes the log', 'Give a function as `writeLog`, or use `counterpoint script`.');
  if (options.cycles && found.hasCyc && !options.approximateIpc)
    note(
      'y',
      'cycles are known only where a packet tells of them, so there are fewer samples than the period asks for',
      'With `A` (as in `--itrace=Ay`), the cycles counted so far are used everywhere.',
    );
  return notes;
}
