import { type Diagnostic, printable } from '@counterpoint/core/base';
import { type OffCpuAnswer, type OffCpuRow, offCpu } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import type { Note } from '../../../linux/kernel/perf-events/index.ts';
import { CommandError } from '../../../linux/kernel/target/index.ts';
import { type RecordOptions, recordLive } from '../../../linux/sample/record/index.ts';
import { EXIT_LOSS, EXIT_OK, type VerbContext } from '../../common/args.ts';
import { formatDuration, percentText } from '../../common/human.ts';
import { lossLines } from '../../common/loss-text.ts';
import type { Output } from '../../common/output.ts';
import { printError } from '../../common/output-error.ts';
import { printDiagnostics } from '../../common/recording-input.ts';
import { UsageError } from '../../common/usage-error.ts';
import { statusAfter, stopOnSignals, tellWait } from '../shared/stop-signals.ts';
import type { OffCpuName } from './off-cpu.ts';

type Context = VerbContext<OffCpuName>;

const DEFAULT_ROWS = 20;

interface Seen {
  answer: OffCpuAnswer;
  diagnostics: Diagnostic[];
}

/** Watches, or reads a recording, and says who waited where. */
export async function runOffCpu(context: Context): Promise<number> {
  const { args } = context;
  const input = args.string('input');
  const isTarget = args.words.length > 0 || args.has('pid') || args.has('tid') || args.boolean('all-cpus');
  if (input !== undefined && isTarget) throw new UsageError('--input reads a recording and watches nothing');
  if (input !== undefined) return withLoss(context, EXIT_OK, print(context, await answerOf(input)));
  if (!isTarget)
    throw new UsageError(
      'there is nothing to watch',
      'Give a command, a process (-p PID), a thread (-t TID), everything (-a), or a recording (--input FILE).',
    );
  return await watch(context);
}

async function watch(context: Context): Promise<number> {
  const { args, err } = context;
  const isQuiet = args.boolean('quiet');
  using stop = stopOnSignals(tellWait('off-cpu', err));
  let shown = 0;
  const showNotes = (notes: readonly Note[]) => {
    for (const { text } of isQuiet ? [] : notes.slice(shown))
      err.line(err.style.yellow(`counterpoint off-cpu: ${text}`));
    shown = notes.length;
    err.flush();
  };
  const live = recordLive({
    ...watchOptions(args),
    signal: stop.signal,
    onStart: ({ notes, pid }) => {
      stop.follow(pid);
      showNotes(notes);
      const isEndless = args.words.length === 0 && !isQuiet;
      if (isEndless) err.line('counterpoint off-cpu: watching; press Ctrl-C to end and to show the answer');
      err.flush();
    },
    onNote: showNotes,
  });
  try {
    // Read while it is written; what the format has counted comes at the end.
    const [seen, result] = await Promise.all([answerOf(live.stream), live.finished]);
    showNotes(result.notes);
    const answer = print(context, seen);
    if (result.error !== null) printError(result.error, err, { prefix: 'counterpoint off-cpu' });
    return withLoss(context, statusAfter(await stop.lastReceived(), result.exitCode), answer);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint off-cpu' });
    return error.exitStatus;
  }
}

function watchOptions(args: Context['args']): Omit<RecordOptions, 'output' | 'maxSizeBytes'> {
  return {
    command: args.words,
    ...(args.has('pid') ? { pids: args.numbers('pid', { min: 1 }) } : {}),
    ...(args.has('tid') ? { tids: args.numbers('tid', { min: 1 }) } : {}),
    systemWide: args.boolean('all-cpus'),
    inherit: !args.boolean('no-inherit'),
    // Another Ctrl-C ends the waiting.
    commandGraceMs: Number.POSITIVE_INFINITY,
    formats: [args.boolean('ready', true) ? 'off-cpu' : 'off-cpu,ready=no'],
    ...(args.has('node-names') ? { nodeNames: args.boolean('node-names') } : {}),
  };
}

async function answerOf(input: Parameters<typeof openRecording>[0]): Promise<Seen> {
  await using recording = await openRecording(input);
  const { profile, diagnostics } = await recording.profile({ aggregate: true });
  return { answer: offCpu(profile), diagnostics };
}

function withLoss({ args }: Context, status: number, { loss }: OffCpuAnswer): number {
  return status === EXIT_OK && args.boolean('fail-on-loss') && loss.length > 0 ? EXIT_LOSS : status;
}

function print({ args, out, err }: Context, { answer, diagnostics }: Seen): OffCpuAnswer {
  if (args.boolean('json')) {
    out.json({ ...answer, diagnostics });
    return answer;
  }
  const most = args.number('limit', { min: 1 }) ?? DEFAULT_ROWS;
  const lines = lossLines(answer.loss, answer.damage);
  for (const line of lines) out.line(out.style.yellow(`# Lost: ${line}`));
  if (lines.length === 0) out.line('# Nothing lost.');
  out.line(`# Off the CPU: ${headText(answer)}`);
  for (const [role, title] of [
    ['main', 'Main threads'],
    ['other', 'Other threads: pools, workers, libraries'],
  ] as const) {
    const rows = answer.rows.filter((row) => row.role === role);
    if (rows.length > 0) printRows(title, rows, most, out);
  }
  out.flush();
  printDiagnostics(diagnostics, err, args.boolean('verbose'));
  return answer;
}

function headText({ threads, totalNs, waitingNs, readyNs, unknownNs }: OffCpuAnswer): string {
  const parts = [
    [waitingNs, 'waiting'],
    [readyNs, 'ready to run while no CPU was free'],
    [unknownNs, 'since before the start'],
  ]
    .filter(([ns]) => ns !== '0')
    .map(([ns, words]) => `${time(ns!)} ${words}`);
  const who = `${threads} ${threads === 1 ? 'thread' : 'threads'}`;
  return `${time(totalNs)} of ${who}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`;
}

function time(ns: string): string {
  return formatDuration(Number(ns));
}

function waitText({ state, wait }: OffCpuRow): string {
  if (state === 'ready') return '[ready, waits for a CPU]';
  return state === 'unknown' ? '[off the CPU from the start]' : (wait ?? '');
}

/** Times of a table have one unit each: they are for people; --json has nanoseconds. */
function printRows(title: string, rows: readonly OffCpuRow[], most: number, out: Output): void {
  const total = rows.reduce((sum, { timeNs }) => sum + Number(timeNs), 0);
  out.line('#');
  out.line(out.style.bold(`# ${title}: ${formatDuration(total)}`));
  const head = ['Time', 'Share', 'Threads', 'Command', 'Waits in', 'Who'];
  const cells = rows
    .slice(0, most)
    .map((row) => [
      time(row.timeNs),
      percentText(row.percent),
      String(row.threads),
      printable(row.comm),
      printable(waitText(row)),
      row.symbol === row.dso ? row.symbol : `${printable(row.symbol)} (${printable(row.dso)})`,
    ]);
  const widths = head.map((word, at) => Math.max(word.length, ...cells.map((row) => row[at]!.length)));
  const join = (row: readonly string[]) =>
    row
      .map((text, at) => (at < 3 ? text.padStart(widths[at]!) : text.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd();
  out.line(`# ${join(head)}`);
  for (const row of cells) out.line(`  ${join(row)}`);
  if (rows.length > most) out.line(`# and ${rows.length - most} more (--limit)`);
}
