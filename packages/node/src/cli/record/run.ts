import { constants } from 'node:os';
import { MOST_TIMER_MS, parseSizeBytes, printable } from '@counterpoint/core/base';
import { MOST_STACK_BYTES, type Note } from '../../perf-events/index.ts';
import {
  planRecording,
  type RecordOptions,
  type RecordProgress,
  type RecordResult,
  type RecordStart,
  record,
} from '../../record/index.ts';
import { realSys } from '../../sys/index.ts';
import { CommandError } from '../../target/index.ts';
import { EXIT_FAILURE, EXIT_LOSS, EXIT_OK, type VerbContext } from '../common/args.ts';
import { takeEventTables } from '../common/event-tables.ts';
import { formatsAskedAbout } from '../common/format-help.ts';
import { formatBytes, formatCount } from '../common/human.ts';
import { lossLines } from '../common/loss-text.ts';
import { printError } from '../common/output-error.ts';
import { ProgressLine } from '../common/progress.ts';
import { samplingRequest } from '../common/sampling-options.ts';
import { stopOnSignals, tellWaitForReader } from '../common/stop-signals.ts';
import { UsageError } from '../common/usage-error.ts';
import { packageVersion } from '../common/version.ts';
import { listFormats } from '../list/formats.ts';
import { formatSummary } from './format-summary.ts';
import type { RecordName } from './record.ts';
import { sampleOptions } from './sample-rows.ts';
import { WaitingText } from './waiting-text.ts';

type Context = VerbContext<RecordName>;
type Arguments = Context['args'];

/** A command that prints at once should not have our line in the middle of it. */
const QUIET_START_MS = 1000;

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
  const options = recordOptions(args);
  await takeEventTables(args.all('event-tables'), { verbose: args.boolean('verbose'), quiet: isQuiet }, err);
  if (args.boolean('plan')) return await printRecordPlan(options, context);
  using progress = new ProgressLine(err);
  const waiting = new WaitingText(say, err);
  using stop = stopOnSignals(
    () => waiting.tell(),
    () => waiting.tellFormats(),
  );
  let shownNotes = 0;
  const showNotes = (notes: readonly Note[]) => {
    for (const { text } of notes.slice(shownNotes)) say(err.style.yellow(`counterpoint record: ${text}`));
    shownNotes = notes.length;
  };
  let result: RecordResult;
  try {
    result = await record({
      // A second Ctrl-C ends the waiting.
      commandGraceMs: Number.POSITIVE_INFINITY,
      ...options,
      signal: stop.signal,
      onStart: (start) => {
        showNotes(start.notes);
        if (args.boolean('verbose')) describeStart(start, say);
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
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint record' });
    return error.exitStatus;
  }
  progress.close();
  showNotes(result.notes);
  printEnd(result, say);
  if (result.error !== null) printError(result.error, err, { prefix: 'counterpoint record' });
  return exitStatus(result, stop.received(), args.boolean('fail-on-loss'));
}

/** Nothing is opened, written or started. */
async function printRecordPlan(options: RecordOptions, { args, out, err }: Context): Promise<number> {
  const { COMMAND_PID, printPlan } = await import('../common/plan-output.ts');
  const { plan, formats, notes } = await planRecording(options, COMMAND_PID);
  const plans = [{ name: null, cgroup: null, events: plan.events, rows: plan.rows }];
  printPlan({ verb: 'record', plans, formats, asJson: args.boolean('json') }, out);
  for (const { text } of notes) err.line(`counterpoint record: ${text}`);
  return EXIT_OK;
}

function describeStart({ events, rings, pid }: RecordStart, say: (text: string) => void): void {
  for (const { requestedName, name, descriptors } of events) {
    const asked = name === requestedName ? '' : ` (asked for as ${requestedName})`;
    say(`counterpoint record: event ${name}${asked}: ${descriptors} descriptors`);
  }
  const { cpus, sizeBytes } = rings;
  say(`counterpoint record: ${formatBytes(sizeBytes)} of ring for each of the CPUs ${cpus.join(', ')}`);
  if (pid !== null) say(`counterpoint record: the command is process ${pid}`);
}

function exitStatus(result: RecordResult, received: NodeJS.Signals | null, failOnLoss: boolean): number {
  if (result.stopped === 'write-error') return EXIT_FAILURE;
  const ownStatus = received === null ? EXIT_OK : 128 + constants.signals[received];
  const status = result.exitCode ?? ownStatus;
  return status === EXIT_OK && failOnLoss && result.loss.length > 0 ? EXIT_LOSS : status;
}

/** perf's two lines, and what is missing. */
function printEnd(result: RecordResult, say: (text: string) => void): void {
  const prefix = '[ counterpoint record:';
  if (result.stopped === 'size-limit')
    say(`${prefix} the output has reached its size limit; the recording ends ]`);
  say(`${prefix} Woken up ${result.wakeups} times to write data ]`);
  const megabytes = (result.bytes / 2 ** 20).toFixed(3);
  say(`${prefix} Captured and wrote ${megabytes} MB ${result.path} (${result.samples} samples) ]`);
  for (const line of emptyLines(result)) say(`${prefix} ${line} ]`);
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
function emptyLines({ samples, formats, loss, stopped, events }: RecordResult): string[] {
  const isOurs = formats.some(({ name }) => name !== 'ring');
  // Other lines say it.
  const isTold = stopped === 'write-error' || loss.some(({ kind }) => EMPTYING.has(kind));
  if (samples > 0 || isOurs || isTold) return [];
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
  return `recording: ${seconds} s, ${formatCount(samples)} samples, ${formatBytes(bytes)}, ${formatCount(lostRecords)} records lost`;
}

function recordOptions(args: Arguments): RecordOptions {
  refuseWhatIsMissing(args);
  const options: RecordOptions = {
    command: args.words,
    systemWide: args.boolean('all-cpus'),
    ...callGraph(args),
    callchains: exclusive(args, 'user-callchains', 'kernel-callchains', ['user', 'kernel', 'both']),
    levels: exclusive(args, 'all-user', 'all-kernel', ['user', 'kernel', 'all']),
    inherit: !args.boolean('no-inherit'),
    ...samplingRequest(args),
    buildIds: !args.boolean('no-buildid'),
    toolVersion: `counterpoint ${packageVersion()}`,
    commandLine: [process.argv[1] ?? 'counterpoint', ...process.argv.slice(2)],
  };
  const set = <Name extends keyof RecordOptions>(name: Name, value: RecordOptions[Name]) => {
    if (value !== undefined) options[name] = value;
  };
  if (args.has('pid')) set('pids', args.numbers('pid', { min: 1 }));
  if (args.has('tid')) set('tids', args.numbers('tid', { min: 1 }));
  const cpus = args.ranges('cpu');
  if (args.has('cpu')) set('cpus', cpus);
  set('formats', formats(args));
  Object.assign(options, sampleOptions(args), filtersOf(args));
  set('clockId', clockId(args));
  set('mmapPages', mmapPages(args));
  set('bufferBytes', args.sizeBytes('buffer', { min: 0 }));
  set('realtimePriority', args.number('realtime', { min: 1, max: 99 }));
  if (args.boolean('no-js')) set('nodeNames', false);
  if (args.boolean('keep-perf-maps')) set('keepPerfMaps', true);
  set('output', args.string('output'));
  set('delayMs', args.durationMs('delay', { min: 0, max: MOST_TIMER_MS }));
  set('maxSizeBytes', args.sizeBytes('max-size', { min: 1 }));
  if (args.boolean('loop')) options.eventLoops = true;
  return options;
}

/** `fp`, `dwarf` or `dwarf,SIZE`, as perf has it. */
function callGraph(args: Arguments): Pick<RecordOptions, 'callGraph' | 'userStackBytes'> {
  const given = args.string('call-graph');
  if (given === undefined) return { callGraph: args.boolean('g') };
  const [mode, size, ...rest] = given.split(',');
  const expected = 'fp, dwarf or dwarf,SIZE';
  if (mode === 'lbr')
    throw args.refuse('call-graph', expected, 'Branch records are not recorded yet: use fp or dwarf.');
  if ((mode !== 'fp' && mode !== 'dwarf') || rest.length > 0 || (mode === 'fp' && size !== undefined))
    throw args.refuse('call-graph', expected);
  if (mode === 'fp') return { callGraph: 'fp' };
  if (size === undefined) return { callGraph: 'dwarf' };
  const userStackBytes = parseSizeBytes(size);
  if (userStackBytes === null || userStackBytes < 8 || userStackBytes > MOST_STACK_BYTES)
    throw args.refuse('call-graph', expected, `SIZE is from 8 to ${MOST_STACK_BYTES} bytes.`);
  return { callGraph: 'dwarf', userStackBytes };
}

/** One for each --event: filters of an event are one behind the other, and all of them must hold. */
function filtersOf(args: Arguments): Pick<RecordOptions, 'filters'> {
  const filters: (string | null)[] = [];
  for (const { name, value } of args.given) {
    if (name === 'event') filters.push(null);
    if (name !== 'filter') continue;
    if (filters.length === 0)
      throw new UsageError(
        '--filter stands before any event',
        "Give it behind its tracepoint: -e sched:sched_switch --filter 'prev_pid == 1'.",
      );
    const before = filters.pop() ?? null;
    filters.push(before === null ? value : `(${before}) && (${value})`);
  }
  return filters.some((filter) => filter !== null) ? { filters } : {};
}

/** perf's --off-cpu is a format beside those that are given, or beside the kernel's own records. */
function formats(args: Arguments): RecordOptions['formats'] {
  const given = args.all('format');
  if (!args.boolean('off-cpu')) return given.length > 0 ? given : undefined;
  const isGiven = given.some((one) => /^off-cpu(?:,|$)/.test(one));
  return [...(given.length > 0 ? given : ['ring']), ...(isGiven ? [] : ['off-cpu'])];
}

function refuseWhatIsMissing(args: Arguments): void {
  const hasTarget = args.has('pid') || args.has('tid') || args.has('cpu') || args.boolean('all-cpus');
  if (!hasTarget && args.words.length === 0) {
    throw new UsageError(
      'there is nothing to record',
      'Give a command, a process (-p PID), a thread (-t TID) or all CPUs (-a).',
    );
  }
  if (args.boolean('json') && !args.boolean('plan'))
    throw new UsageError(
      '--json is for --plan',
      'To read a recording as JSON, use report --json or script --json.',
    );
  if (args.has('compression-level')) {
    throw new UsageError(
      '-z is not available: this version writes uncompressed files',
      'Compress the file afterwards.',
    );
  }
  if (args.string('output') === '-' && process.stdout.isTTY)
    throw new UsageError(
      '-o - writes a binary stream, and standard output is a terminal',
      'Send it to a file or a pipe.',
    );
}

function exclusive<Value>(
  args: Arguments,
  first: RecordName,
  second: RecordName,
  values: [Value, Value, Value],
): Value {
  const [one, two] = [args.boolean(first), args.boolean(second)];
  if (one && two) throw new UsageError(`--${first} and --${second} exclude each other`);
  return one ? values[0] : two ? values[1] : values[2];
}

const CLOCKS: Readonly<Record<string, number>> = {
  realtime: 0,
  real: 0,
  monotonic: 1,
  mono: 1,
  monotonic_raw: 4,
  raw: 4,
  boottime: 7,
  boot: 7,
  tai: 11,
};

function clockId(args: Arguments): number | undefined {
  const text = args.string('clockid');
  if (text === undefined) return undefined;
  const known = CLOCKS[text.toLowerCase().replace(/^clock_/, '')];
  if (known !== undefined) return known;
  if (/^\d+$/.test(text) && Object.values(CLOCKS).includes(Number(text))) return Number(text);
  throw args.refuse('clockid', `one of ${Object.keys(CLOCKS).join(', ')}`);
}

/** The kernel's own limit is lower, and that of the memory to lock; this one keeps numbers whole. */
const MOST_PAGES = 2 ** 20;

/** `128` is pages; `512K` is a size. */
function mmapPages(args: Arguments): number | undefined {
  const text = args.string('mmap-pages');
  if (text === undefined || /^\d+$/.test(text)) return args.number('mmap-pages', { min: 1, max: MOST_PAGES });
  const pageSizeBytes = realSys.pageSizeBytes();
  const pages = Math.ceil(args.sizeBytes('mmap-pages', { min: 1 })! / pageSizeBytes);
  if (pages <= MOST_PAGES) return pages;
  const most = `${(MOST_PAGES * pageSizeBytes) / 2 ** 30}G`;
  throw args.refuse('mmap-pages', `at most ${MOST_PAGES} pages or ${most}`);
}
