import { printable } from '@counterpoint/core/base';
import type { OptionRow } from '../../common/option-row.ts';
import type { Output } from '../../common/output.ts';

/** A row for every verb that takes events by name. */
export function eventTablesOption(group: string): OptionRow<'event-tables'> {
  return {
    long: 'event-tables',
    value: 'PATH',
    repeat: true,
    help: "read vendors' JSON event tables from a file or a directory: Intel's perfmon, Arm's telemetry,\nperf's (default: $COUNTERPOINT_EVENT_TABLES, with : between paths)",
    group,
  };
}

/**
 * What the option asks for, before events are looked up; unless `quiet`, a line says what could not be read
 * of the tables. Nothing is loaded without the option.
 */
export async function takeEventTables(
  paths: readonly string[],
  { verbose, quiet = false }: { verbose: boolean; quiet?: boolean },
  err: Output,
): Promise<void> {
  if (paths.length === 0) return;
  const { useEventTables } = await import('../../../linux/kernel/local-pmus/index.ts');
  useEventTables(paths);
  if (verbose || !quiet) await reportEventTables({ verbose }, err);
}

/** The tables in use in one line, and the problems with them one by one where more is asked for. */
export async function reportEventTables({ verbose }: { verbose: boolean }, err: Output): Promise<void> {
  const { eventTables } = await import('../../../linux/kernel/local-pmus/index.ts');
  const { tables, problems, problemCount } = eventTables();
  const { yellow, dim } = err.style;
  if (verbose) {
    for (const { path, events, foreign, isAssumed } of tables) {
      const whose =
        foreign !== null ? `for ${foreign}` : isAssumed ? "taken as this machine's" : "this machine's";
      err.line(dim(`event tables: ${printable(path)}: ${count(events.length, 'event')}, ${whose}`));
    }
    for (const { place, what } of problems)
      err.line(yellow(`event tables: ${printable(`${place}: ${what}`)}`));
    if (problemCount > problems.length)
      err.line(yellow(`event tables: and ${count(problemCount - problems.length, 'more problem')}`));
  } else if (problemCount > 0) {
    const remedy = 'counterpoint list -v with the same tables says which';
    err.line(yellow(`event tables: ${count(problemCount, 'problem')} left something out; ${remedy}`));
  }
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
