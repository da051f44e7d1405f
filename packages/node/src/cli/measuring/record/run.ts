import { constants } from 'node:os';
import { printable } from '@counterpoint/core/base';
import type { Note } from '../../../linux/kernel/perf-events/index.ts';
import { CommandError } from '../../../linux/kernel/target/index.ts';
import {
  planRecording,
  type RecordOptions,
  type RecordProgress,
  type RecordResult,
  type RecordStart,
  record,
  WriteError,
} from '../../../linux/sample/record/index.ts';
import { EXIT_FAILURE, EXIT_LOSS, EXIT_OK, type VerbContext } from '../../common/args.ts';
import { countOf, formatBytes, plainCount } from '../../common/human.ts';
import { lossLines } from '../../common/loss-text.ts';
import { printError } from '../../common/output-error.ts';
import { ProgressLine } from '../../common/progress.ts';
import { listFormats } from '../list/formats.ts';
import { sysOfAttrFiles } from '../shared/attr-files.ts';
import { takeEventTables } from '../shared/event-tables.ts';
import { formatsAskedAbout } from '../shared/format-help.ts';
import { endsByClosedPipe, statusAfter, stopOnSignals, tellWaitForReader } from '../shared/stop-signals.ts';
import { RecordControls } from './controls.ts';
import { formatSummary } from './format-summary.ts';
import { keepingOptions, keepWhatNames } from './keep-binaries.ts';
import type { RecordName } from './record.ts';
import { recordOptions } from './request.ts';
import { WaitingText } from './waiting-text.ts';

type Context = VerbContext<RecordName>;

/** A command that prints at once should not have our line in the middle of it. */
const QUIET_START_MS = 1000;

/** What a shell makes of that end. */
const SIGPIPE_STATUS = 128 + constants.signals.SIGPIPE;

/** What a format says of itself is a line or two, or else a table. */
const MOST_PLAIN_LINES = 2;

export async function runRecord(context: Context): Promise<number> {
  const { args, err } = context;
  const isQuiet = args.boolean('quiet');
  const say = (text: string) => {
    if (!isQuiet) err.line(text);
  };
  const asked = formatsAskedAbout(args.all('format'));
  if (asked.length > 0) return await listFormats(asked, { json: args.boolean('json') }, context.out);
  const options = await recordOptions(args);
  const keeping = keepingOptions(args);
  await takeEventTables(args.all('event-tables'), { verbose: args.boolean('verbose'), quiet: isQuiet }, err);
  if (args.boolean('plan')) return await printRecordPlan(options, context);
  const attrFiles = await sysOfAttrFiles();
  using progress = new ProgressLine(err);
  const waiting = new WaitingText(say, err);
  using stop = stopOnSignals(
    (hasSentTerm) => waiting.tell(hasSentTerm),
    () => waiting.tellFormats(),
  );
  using control = new RecordControls(args.string('control'), err);
  let shownNotes = 0;
  const switched: string[] = [];
  const showNotes = (notes: readonly Note[]) => {
    for (const { text } of notes.slice(shownNotes)) say(err.style.yellow(`counterpoint record: ${text}`));
    shownNotes = notes.length;
  };
  let result: RecordResult;
  try {
    result = await record({
      // Another Ctrl-C ends the waiting.
      commandGraceMs: Number.POSITIVE_INFINITY,
      ...options,
      ...attrFiles,
      signal: stop.signal,
      onStart: (start) => {
        stop.follow(start.pid);
        showNotes(start.notes);
        if (args.boolean('verbose')) describeStart(start, say);
      },
      ...control.wishes(isSteered(args), stop.end),
      onSwitch: (path) => {
        switched.push(path);
        say(`[ counterpoint record: Dump ${path} ]`);
      },
      onNote: (notes) => {
        showNotes(notes);
        err.flush();
      },
      onWaitForReader: (path) => isQuiet || tellWaitForReader('record', path, err),
      onStop: (stopped) => waiting.onStop(stopped),
      ...(isQuiet || !err.isTerminal
        ? {}
        : {
            onProgress: (now) => now.elapsedMs > QUIET_START_MS && progress.update(() => progressText(now)),
          }),
    });
  } catch (error) {
    if (isClosedPipe(error, options) && endsByClosedPipe()) return SIGPIPE_STATUS;
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint record' });
    return error.exitStatus;
  }
  progress.close();
  if (isClosedPipe(result.error, options) && endsByClosedPipe()) return SIGPIPE_STATUS;
  showNotes(result.notes);
  printEnd(result, say, options);
  if (result.error !== null) printError(result.error, err, { prefix: 'counterpoint record' });
  await keepWhatNames([...new Set([...switched, result.path])], keeping, say);
  return exitStatus(result, await stop.lastReceived(), args.boolean('fail-on-loss'));
}

/** The reader of `-o -` has gone. */
function isClosedPipe(error: unknown, { output }: RecordOptions): boolean {
  return output === '-' && error instanceof WriteError && error.errnoCode === 'EPIPE';
}

/** Nothing is opened, written or started. */
async function printRecordPlan(options: RecordOptions, { args, out, err }: Context): Promise<number> {
  const { COMMAND_PID, printPlan } = await import('../shared/plan-output.ts');
  const { plan, formats, notes } = await planRecording(options, COMMAND_PID);
  const plans = [{ name: null, cgroup: null, events: plan.events, rows: plan.rows }];
  printPlan({ verb: 'record', plans, formats, asJson: args.boolean('json') }, out);
  for (const { text } of notes) err.line(`counterpoint record: ${text}`);
  return EXIT_OK;
}

function describeStart({ events, rings, pid }: RecordStart, say: (text: string) => void): void {
  for (const { requestedName, name, descriptors } of events) {
    const asked = name === requestedName ? '' : ` (asked for as ${requestedName})`;
    say(`counterpoint record: event ${name}${asked}: ${plainCount(descriptors, 'descriptor')}`);
  }
  const { cpus, sizeBytes } = rings;
  say(`counterpoint record: ${formatBytes(sizeBytes)} of ring for each of the CPUs ${cpus.join(', ')}`);
  if (pid !== null) say(`counterpoint record: the command is process ${pid}`);
}

function exitStatus(result: RecordResult, received: NodeJS.Signals | null, failOnLoss: boolean): number {
  if (result.stopped === 'write-error') return EXIT_FAILURE;
  const status = statusAfter(received, result.exitCode);
  return status === EXIT_OK && failOnLoss && result.loss.length > 0 ? EXIT_LOSS : status;
}

/** perf's two lines, and what is missing. */
function printEnd(result: RecordResult, say: (text: string) => void, options: RecordOptions): void {
  const prefix = '[ counterpoint record:';
  if (result.stopped === 'size-limit')
    say(`${prefix} the output has reached its size limit; the recording ends ]`);
  say(`${prefix} Woken up ${plainCount(result.wakeups, 'time')} to write data ]`);
  const megabytes = (result.bytes / 2 ** 20).toFixed(3);
  say(
    `${prefix} Captured and wrote ${megabytes} MB ${result.path} (${plainCount(result.samples, 'sample')}) ]`,
  );
  if (result.soft !== null) {
    const { instructions, branches, threads } = result.soft;
    const done = options.softWay === 'fast' ? 'Executed' : 'Stepped';
    say(
      `${prefix} ${done} ${plainCount(instructions, 'instruction')}, ${branches} of them branches, of ${plainCount(threads, 'thread')} ]`,
    );
  }
  if (result.traceBytes > 0)
    say(
      `${prefix} Traced it in ${formatBytes(result.traceBytes)}; to decode it: counterpoint report --itrace=i1i ]`,
    );
  if (options.samples !== false) for (const line of emptyLines(result)) say(`${prefix} ${line} ]`);
  for (const format of result.formats) {
    // A table stays a table.
    const isTable = format.lines.length > MOST_PLAIN_LINES;
    for (const line of format.lines) say(isTable ? line : `${prefix} ${line} ]`);
    // The kernel's own records are what the lines above count.
    if (format.name !== 'ring') say(`${prefix} ${formatSummary(format)} ]`);
  }
  for (const line of lossLines(result.loss, [])) say(`${prefix} LOST: ${line} ]`);
}

/** Why there is no sample, as far as it is known. Formats tell of their own. */
function emptyLines({ samples, traceBytes, formats, loss, stopped, events }: RecordResult): string[] {
  const isOurs = formats.some(({ name }) => name !== 'ring');
  // Other lines say it.
  const isTold = stopped === 'write-error' || loss.some(({ kind }) => EMPTYING.has(kind));
  if (samples > 0 || traceBytes > 0 || isOurs || isTold) return [];
  // With -D one event more has the records before the others begin.
  const asked = events.filter(({ name }) => !name.startsWith('dummy'));
  const names = (asked.length > 0 ? asked : events).map(({ name }) => printable(name)).join(', ');
  return [
    `EMPTY: no sample was taken, because ${names} never reached its period`,
    'a clock counts only while the target runs; a short command ends before the first sample',
    'sample more often (-F max, or -c PERIOD), or count instead: counterpoint stat',
  ];
}

/** Losses that can be of every sample there was. */
const EMPTYING: ReadonlySet<string> = new Set([
  'events-taken',
  'ring-full',
  'lost-samples',
  'recorder-stopped',
]);

function progressText({ elapsedMs, samples, bytes, lostRecords }: RecordProgress): string {
  const seconds = (elapsedMs / 1000).toFixed(1);
  return `recording: ${seconds} s, ${countOf(samples, 'sample')}, ${formatBytes(bytes)}, ${countOf(lostRecords, 'record')} lost`;
}

/** By lines, or by a signal: the next file, or a snapshot of the trace. */
function isSteered(args: Parameters<typeof recordOptions>[0]): boolean {
  return args.has('control') || args.has('snapshot') || args.string('switch-output') === 'signal';
}
