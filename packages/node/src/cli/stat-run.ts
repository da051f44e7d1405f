import { constants } from 'node:os';
import { printable, printableJson } from '@counterpoint/core/base';
import type { CountingSession } from '../counting/index.ts';
import {
  countRun,
  type Measurement,
  type RunResult,
  rememberThreadNames,
  rowsOf,
  type StatRow,
} from '../stat/index.ts';
import { CommandError } from '../target/index.ts';
import { EXIT_OK, type VerbContext } from './args.ts';
import { ControlChannel } from './control-channel.ts';
import { obey } from './control-commands.ts';
import { takeEventTables } from './event-tables.ts';
import type { Output } from './output.ts';
import { printError } from './output-error.ts';
import type { StatName } from './stat.ts';
import { jsonLines, separatedLines } from './stat-fields.ts';
import { intervalAnswer, statAnswer } from './stat-json.ts';
import { openResult } from './stat-output.ts';
import { type StatSettings, statSettings } from './stat-settings.ts';
import {
  hasSeveralSets,
  intervalHead,
  intervalTime,
  reasonLines,
  rowLines,
  unitWidthOf,
} from './stat-text.ts';
import { timeLines } from './stat-times.ts';
import { stopOnSignals, tellWait } from './stop-signals.ts';

type Context = VerbContext<StatName>;

/** After so many intervals the head of the table is printed again. */
const INTERVALS_PER_HEAD = 25;

const FOR_PROGRAMS = ['quiet', 'json', 'json-output', 'field-separator'] as const;

export async function runStat(context: Context): Promise<number> {
  const { args, out, err } = context;
  // The counts go to standard error, too: where a program reads them, nothing else may stand there.
  const quiet = FOR_PROGRAMS.some((name) => args.has(name));
  await takeEventTables(args.all('event-tables'), { verbose: args.boolean('verbose'), quiet }, err);
  const settings = await statSettings(args);
  const { saved } = settings;
  if (saved !== null) {
    const { saveControl } = await import('./stat-control.ts');
    await saveControl(saved.path, saved.control, out);
  }
  if (args.boolean('plan')) {
    const { printStatPlan } = await import('./stat-plan.ts');
    // A plan is a result like any other, but for standard output being its place.
    const result = await openResult(settings, out, out);
    try {
      return printStatPlan(settings, args.boolean('json'), result.output);
    } finally {
      result.close();
    }
  }
  const result = await openResult(settings, out, err);
  try {
    return await countAndPrint(settings, result.output, err, args.boolean('verbose'));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint stat' });
    return error.exitStatus;
  } finally {
    result.close();
  }
}

async function countAndPrint(
  settings: StatSettings,
  output: Output,
  err: Output,
  isVerbose: boolean,
): Promise<number> {
  using stop = stopOnSignals(() => tellWait('stat', err));
  const printer = new StatPrinter(settings, settings.quiet ? null : output);
  const runs: RunResult[] = [];
  do {
    if (settings.sync) await syncFiles();
    printer.beginRun();
    const run = await runOnce(settings, stop.signal, printer, err, isVerbose);
    // An unfinished run says nothing about the others.
    const isCutOff = run.stopped === 'aborted' && runs.length > 0;
    if (!isCutOff) runs.push(run);
    if (settings.runs === Number.POSITIVE_INFINITY && !isCutOff) printer.end([runs.pop()!]);
  } while (runs.length < settings.runs && !stop.signal.aborted);
  if (runs.length > 0) printer.end(runs);
  const received = stop.received();
  if (received !== null) return 128 + constants.signals[received];
  const last = runs[runs.length - 1];
  const exit = last?.exit ?? null;
  // That the timeout ends it is what was asked for.
  if (exit === null || (last?.stopped === 'timeout' && exit.signal === 'SIGTERM')) return EXIT_OK;
  const isForPeople = settings.format === 'text' && !settings.quiet;
  if (isForPeople && exit.signal !== null)
    err.line(`counterpoint stat: the command was ended by ${exit.signal}`);
  return exit.code;
}

async function runOnce(
  settings: StatSettings,
  signal: AbortSignal,
  printer: StatPrinter,
  err: Output,
  isVerbose: boolean,
): Promise<RunResult> {
  const { scope, command, control, options, delayMs, startDisabled, timeoutMs, intervalMs, intervalCount } =
    settings;
  let switchByHand: (() => void) | null = null;
  let channel: ControlChannel | null = null;
  try {
    return await countRun({
      scope,
      command,
      control,
      ...options,
      delayMs,
      startDisabled,
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(intervalMs === undefined ? {} : { intervalMs }),
      ...(intervalCount === undefined ? {} : { intervalCount }),
      onStart: ({ sessions, commandPid }) => {
        if (settings.by === 'thread') rememberThreadNames(sessions);
        channel = obeyCommands(settings, sessions, err);
        if (control?.switching?.by === 'manual') {
          switchByHand = () => {
            for (const session of sessions) session.next();
          };
          process.on('SIGUSR2', switchByHand);
        }
        if (isVerbose && commandPid !== null)
          err.line(`counterpoint stat: the command is process ${commandPid}`);
      },
      onInterval: (interval) => printer.interval(interval),
    });
  } finally {
    if (switchByHand !== null) process.off('SIGUSR2', switchByHand);
    (channel as ControlChannel | null)?.[Symbol.dispose]();
  }
}

/** `--control` of one run. */
function obeyCommands(
  { commands }: StatSettings,
  sessions: readonly CountingSession[],
  err: Output,
): ControlChannel | null {
  if (commands === null) return null;
  return new ControlChannel(
    commands,
    (command) => obey(command, sessions, err),
    (line) => err.line(`counterpoint stat: --control does not know '${printable(line)}'`),
  );
}

async function syncFiles(): Promise<void> {
  const { spawnSync } = await import('node:child_process');
  spawnSync('sync', { stdio: 'ignore' });
}

/** Writes rows in the wanted form. */
class StatPrinter {
  readonly #settings: StatSettings;
  /** Null with `-q`. */
  readonly #output: Output | null;
  #intervals = 0;
  /** From 1. */
  #run = 0;

  constructor(settings: StatSettings, output: Output | null) {
    this.#settings = settings;
    this.#output = output;
    if (
      settings.output !== null &&
      settings.output !== '-' &&
      settings.format !== 'json' &&
      settings.format !== 'lines'
    )
      output?.line(`# started on ${dateText(new Date())}\n`);
  }

  /** Those with a place of their own. Of all threads, an event that is not supported has none: the remarks have it, and --json. */
  #shown(rows: readonly StatRow[]): readonly StatRow[] {
    return this.#settings.by === 'thread' ? rows.filter(({ place }) => place !== null) : rows;
  }

  #rows(runs: readonly Measurement[]): StatRow[] {
    const { scope, by, named, unscaled } = this.#settings;
    return rowsOf(runs, { by, named, unscaled, hideIdle: scope.kind === 'all-threads' });
  }

  beginRun(): void {
    this.#run++;
  }

  interval(interval: Measurement): void {
    const { format, by, bigNumbers, control } = this.#settings;
    const output = this.#output;
    if (output === null) return;
    const rows = this.#rows([interval]);
    const { sinceStartNs } = interval;
    if (format === 'json') output.line(printableJson(intervalAnswer(interval, rows, this.#run)));
    else if (format === 'text') {
      const unitWidth = unitWidthOf(rows);
      if (this.#intervals % INTERVALS_PER_HEAD === 0) output.line(intervalHead(by, unitWidth));
      const prefix = `${intervalTime(sinceStartNs)} `;
      const withSets = hasSeveralSets(control);
      for (const row of this.#shown(rows))
        for (const line of rowLines(row, unitWidth, prefix, { bigNumbers, withSets })) output.line(line);
    } else this.#fields(rows, output, sinceStartNs, false);
    this.#intervals++;
    output.flush();
  }

  end(runs: readonly RunResult[]): void {
    const { format, intervalMs, withSummary } = this.#settings;
    const output = this.#output;
    if (output === null) return;
    const isInterval = intervalMs !== undefined;
    if (isInterval && !withSummary && format !== 'json') {
      if (format === 'text') for (const note of notesOf(runs)) output.line(`  ${note}`);
      this.#takenAsComment(runs, output);
      output.flush();
      return;
    }
    const measurements = runs.map(({ total }) => total);
    const rows = this.#rows(measurements);
    // Behind intervals it is one more line of the same stream.
    if (format === 'json' && isInterval) output.line(printableJson(statAnswer(this.#settings, runs, rows)));
    else if (format === 'json') output.json(statAnswer(this.#settings, runs, rows));
    else if (format === 'text') this.#table(rows, runs, measurements, output);
    else this.#fields(rows, output, null, isInterval);
    if (format === 'fields') this.#takenAsComment(runs, output);
    output.flush();
  }

  /** Counts that stand still look like counts. Lines with a # are none, in perf's files, too. */
  #takenAsComment(runs: readonly RunResult[], output: Output): void {
    if (this.#settings.format !== 'fields') return;
    const notes = runs.flatMap((run) => run.notes.filter(({ kind }) => kind === 'events-taken'));
    for (const text of new Set(notes.map((note) => note.text))) output.line(`# ${text}`);
  }

  #fields(rows: readonly StatRow[], output: Output, sinceStartNs: bigint | null, isSummary: boolean): void {
    const { format, separator, control } = this.#settings;
    const context = { sinceStartNs, isSummary, withSets: hasSeveralSets(control) };
    for (const row of this.#shown(rows)) {
      const lines = format === 'fields' ? separatedLines(row, separator, context) : jsonLines(row, context);
      for (const line of lines) output.line(line);
    }
  }

  #table(
    rows: readonly StatRow[],
    runs: readonly RunResult[],
    measurements: readonly Measurement[],
    output: Output,
  ): void {
    const { scope, bigNumbers, withTable, control } = this.#settings;
    const times = runs.length > 1 ? ` (${runs.length} runs)` : '';
    output.line(`\n Performance counter stats for ${subject(this.#settings)}${times}:\n`);
    const unitWidth = unitWidthOf(rows);
    const withSets = hasSeveralSets(control);
    for (const row of this.#shown(rows))
      for (const line of rowLines(row, unitWidth, '', { bigNumbers, withSets })) output.line(line);
    const remarks = [...reasonLines(rows), ...notesOf(runs).map((note) => `  ${note}`)];
    if (remarks.length > 0) output.line(`\n${remarks.join('\n')}`);
    const lines = timeLines(measurements, scope.kind === 'command', withTable);
    for (const line of control === null ? lines.slice(1) : lines) output.line(line);
  }
}

/** What the rows do not say themselves. */
function notesOf(runs: readonly RunResult[]): string[] {
  const notes = runs.flatMap((run) => run.notes);
  const others = notes.filter(({ kind }) => kind !== 'kernel-excluded' && kind !== 'event-replaced');
  return [...new Set(others.map(({ text }) => text))];
}

function subject({ scope, command }: StatSettings): string {
  switch (scope.kind) {
    case 'command':
      return `'${command.join(' ')}'`;
    case 'processes':
      return `process id '${scope.pids.join(',')}'`;
    case 'threads':
      return `thread id '${scope.tids.join(',')}'`;
    case 'all-threads':
      return `'system wide'`;
    case 'cpus':
      return scope.cpus === undefined ? `'system wide'` : `'CPU(s) ${scope.cpus.join(',')}'`;
  }
}

/** As ctime(3): `Sat Nov 21 11:54:40 2026`. */
function dateText(date: Date): string {
  const [day, month, dayOfMonth, year, time] = date.toString().split(' ');
  return `${day} ${month} ${String(Number(dayOfMonth)).padStart(2)} ${time} ${year}`;
}
