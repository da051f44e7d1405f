import { optional, printableJson } from '@counterpoint/core/base';
import {
  type Measurement,
  type RowOptions,
  type RunResult,
  rowsOf,
  type StatRow,
} from '../../../linux/count/stat/index.ts';
import type { Output } from '../../common/output.ts';
import { jsonLines, separatedLines } from './fields.ts';
import { intervalAnswer } from './json.ts';
import type { StatSettings } from './settings.ts';
import { intervalHead, intervalTime, reasonLines, rowLines, unitWidthOf } from './text.ts';
import { timeLines } from './times.ts';

/** After this many intervals the head of the table is printed again. */
const INTERVALS_PER_HEAD = 25;

/** What is printed of a run. */
export type PrintedRun = Pick<RunResult, 'total' | 'notes'>;

/** How rows are made and printed, live or from a recording. */
export interface PrintSettings<Run extends PrintedRun>
  extends Pick<
      StatSettings,
      'format' | 'separator' | 'by' | 'bigNumbers' | 'withTable' | 'withSummary' | 'named' | 'unscaled'
    >,
    Pick<RowOptions, 'hideIdle' | 'cpuPlace' | 'threadName'> {
  /** Whose counts they are, quoted. */
  subject: string;
  /** The head of a file says it; null without. */
  startedAt: Date | null;
  /** CPU time of the command is known. */
  hasTimes: boolean;
  hasIntervals: boolean;
  /** Name the event set of each row: there are several. */
  withSets: boolean;
  countsNothing: boolean;
  /** For `--json`. */
  answer: (runs: readonly Run[], rows: readonly StatRow[]) => unknown;
}

/** Writes rows in the wanted form. */
export class StatPrinter<Run extends PrintedRun> {
  readonly #settings: PrintSettings<Run>;
  /** Null with `-q`. */
  readonly #output: Output | null;
  #intervals = 0;
  /** From 1. */
  #run = 0;

  constructor(settings: PrintSettings<Run>, output: Output | null) {
    this.#settings = settings;
    this.#output = output;
    const { startedAt, format } = settings;
    if (startedAt !== null && format !== 'json' && format !== 'lines')
      output?.line(`# started on ${dateText(startedAt)}\n`);
  }

  /**
   * Those with a place of their own. Of all threads, an event that is not supported has none: the
   * remarks have it, and --json.
   */
  #shown(rows: readonly StatRow[]): readonly StatRow[] {
    return this.#settings.by === 'thread' ? rows.filter(({ place }) => place !== null) : rows;
  }

  #rows(runs: readonly Measurement[]): StatRow[] {
    const { by, named, unscaled, hideIdle, cpuPlace, threadName } = this.#settings;
    return rowsOf(runs, {
      by,
      named,
      unscaled,
      ...optional({ hideIdle, cpuPlace, threadName }),
    });
  }

  beginRun(): void {
    this.#run++;
  }

  interval(interval: Measurement): void {
    const { format, by, bigNumbers, withSets } = this.#settings;
    const output = this.#output;
    if (output === null) return;
    const rows = this.#rows([interval]);
    const { sinceStartNs } = interval;
    if (format === 'json') output.line(printableJson(intervalAnswer(interval, rows, this.#run)));
    else if (format === 'text') {
      const unitWidth = unitWidthOf(rows);
      if (this.#intervals % INTERVALS_PER_HEAD === 0) output.line(intervalHead(by, unitWidth));
      const prefix = `${intervalTime(sinceStartNs)} `;
      for (const row of this.#shown(rows))
        for (const line of rowLines(row, unitWidth, prefix, { bigNumbers, withSets })) output.line(line);
    } else this.#fields(rows, output, sinceStartNs, false);
    this.#intervals++;
    output.flush();
  }

  end(runs: readonly Run[]): void {
    const { format, hasIntervals, withSummary, answer } = this.#settings;
    const output = this.#output;
    if (output === null) return;
    if (hasIntervals && !withSummary && format !== 'json') {
      if (format === 'text') for (const note of notesOf(runs)) output.line(`  ${note}`);
      this.#takenAsComment(runs, output);
      output.flush();
      return;
    }
    const measurements = runs.map(({ total }) => total);
    const rows = this.#rows(measurements);
    // Behind intervals it is one more line of the same stream.
    if (format === 'json' && hasIntervals) output.line(printableJson(answer(runs, rows)));
    else if (format === 'json') output.json(answer(runs, rows));
    else if (format === 'text') this.#table(rows, runs, measurements, output);
    else this.#fields(rows, output, null, hasIntervals);
    if (format === 'fields') this.#takenAsComment(runs, output);
    output.flush();
  }

  /** Counts that stand still look like counts. Lines with a # are none, in perf's files, too. */
  #takenAsComment(runs: readonly PrintedRun[], output: Output): void {
    if (this.#settings.format !== 'fields') return;
    const notes = runs.flatMap((run) => run.notes.filter(({ kind }) => kind === 'events-taken'));
    for (const text of new Set(notes.map((note) => note.text))) output.line(`# ${text}`);
  }

  #fields(rows: readonly StatRow[], output: Output, sinceStartNs: bigint | null, isSummary: boolean): void {
    const { format, separator, withSets } = this.#settings;
    const context = { sinceStartNs, isSummary, withSets };
    for (const row of this.#shown(rows)) {
      const lines = format === 'fields' ? separatedLines(row, separator, context) : jsonLines(row, context);
      for (const line of lines) output.line(line);
    }
  }

  #table(
    rows: readonly StatRow[],
    runs: readonly Run[],
    measurements: readonly Measurement[],
    output: Output,
  ): void {
    const { subject, hasTimes, bigNumbers, withTable, withSets, countsNothing } = this.#settings;
    const times = runs.length > 1 ? ` (${runs.length} runs)` : '';
    output.line(`\n Performance counter stats for ${subject}${times}:\n`);
    const unitWidth = unitWidthOf(rows);
    for (const row of this.#shown(rows))
      for (const line of rowLines(row, unitWidth, '', { bigNumbers, withSets })) output.line(line);
    const remarks = [...reasonLines(rows), ...notesOf(runs).map((note) => `  ${note}`)];
    if (remarks.length > 0) output.line(`\n${remarks.join('\n')}`);
    const lines = timeLines(measurements, hasTimes, withTable);
    for (const line of countsNothing ? lines.slice(1) : lines) output.line(line);
  }
}

/** What the rows do not say themselves. */
function notesOf(runs: readonly PrintedRun[]): string[] {
  const notes = runs.flatMap((run) => run.notes);
  const others = notes.filter(({ kind }) => kind !== 'kernel-excluded' && kind !== 'event-replaced');
  return [...new Set(others.map(({ text }) => text))];
}

/** As ctime(3): `Sat Nov 21 11:54:40 2026`. */
function dateText(date: Date): string {
  const [day, month, dayOfMonth, year, time] = date.toString().split(' ');
  return `${day} ${month} ${String(Number(dayOfMonth)).padStart(2)} ${time} ${year}`;
}
