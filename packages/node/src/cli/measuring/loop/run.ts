import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Diagnostic, optional } from '@counterpoint/core/base';
import { writeLoopSvg } from '@counterpoint/core/export';
import type { LoopRow, LoopsAnswer } from '@counterpoint/core/query';
import { temporaryDirectory } from '../../../host/leftovers/index.ts';
import { openRecording } from '../../../host/open/index.ts';
import type { Note } from '../../../linux/kernel/perf-events/index.ts';
import { requireLinux } from '../../../linux/kernel/sys/index.ts';
import { CommandError } from '../../../linux/kernel/target/index.ts';
import { type RecordOptions, record } from '../../../linux/sample/record/index.ts';
import { EXIT_LOSS, EXIT_OK, type VerbContext } from '../../common/args.ts';
import { writeChunks } from '../../common/export-file.ts';
import { formatBytes, formatDuration } from '../../common/human.ts';
import { printError } from '../../common/output-error.ts';
import { printDiagnostics } from '../../common/recording-input.ts';
import { UsageError } from '../../common/usage-error.ts';
import { statusAfter, stopOnSignals, tellWait } from '../shared/stop-signals.ts';
import type { LoopName } from './loop.ts';
import { printLoops } from './text.ts';

type Context = VerbContext<LoopName>;

const NS_PER_MS = 1e6;
const DEFAULT_LIMIT = 10;
/** A turn took longer than `--fail-over` allows. */
const EXIT_SLOW = 4;

/** Watches, or reads a recording, and tells of its event loops. */
export async function runLoop(context: Context): Promise<number> {
  const { args } = context;
  checkPicture(context);
  const input = args.string('input');
  const isTarget = args.words.length > 0 || args.has('pid');
  if (input !== undefined) {
    const one = ['pid', 'record', 'freq', 'node-names'].find((name) => args.has(name as LoopName));
    if (isTarget || one !== undefined)
      throw new UsageError(
        '-i reads a recording and watches nothing',
        'Leave out the target and its options.',
      );
    return await answer(context, input, EXIT_OK);
  }
  if (!isTarget)
    throw new UsageError(
      'there is nothing to watch',
      'Give a command, a process (-p PID), or a recording (-i FILE).',
    );
  requireLinux('loop');
  const kept = args.string('record');
  if (kept !== undefined) return await watch(context, kept);
  const folder = await temporaryDirectory('loop');
  try {
    return await watch(context, join(folder, 'perf.data'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function watch(context: Context, path: string): Promise<number> {
  const { args, err } = context;
  const isQuiet = args.boolean('quiet');
  using stop = stopOnSignals(tellWait('loop', err));
  let shown = 0;
  const showNotes = (notes: readonly Note[]) => {
    for (const { text } of isQuiet ? [] : notes.slice(shown))
      err.line(err.style.yellow(`counterpoint loop: ${text}`));
    shown = notes.length;
    err.flush();
  };
  try {
    const result = await record({
      ...watchOptions(args),
      output: path,
      signal: stop.signal,
      onStart: ({ notes, pid }) => {
        stop.follow(pid);
        showNotes(notes);
        const isEndless = args.words.length === 0 && !isQuiet;
        if (isEndless) err.line('counterpoint loop: watching; press Ctrl-C to end and to show the answer');
        err.flush();
      },
      onNote: showNotes,
    });
    showNotes(result.notes);
    const status = statusAfter(await stop.lastReceived(), result.exitCode);
    if (result.error !== null) printError(result.error, err, { prefix: 'counterpoint loop' });
    return await answer(context, path, status);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint loop' });
    return error.exitStatus;
  }
}

function watchOptions(args: Context['args']): RecordOptions {
  const frequency = args.number('freq', { min: 1 });
  return {
    eventLoops: true,
    command: args.words,
    ...(args.has('pid') ? { pids: args.numbers('pid', { min: 1 }) } : {}),
    // Another Ctrl-C ends the waiting.
    commandGraceMs: Number.POSITIVE_INFINITY,
    ...(frequency === undefined ? {} : { events: `cpu-clock/freq=${frequency},name=cpu-clock/` }),
    ...(args.has('node-names') ? { nodeNames: args.boolean('node-names') } : {}),
  };
}

async function answer(context: Context, path: string, status: number): Promise<number> {
  const { args, out, err } = context;
  const picture = args.string('output');
  const limit = args.number('limit', { min: 1 }) ?? DEFAULT_LIMIT;
  const slowMs = args.durationMs('slow', { min: 0 });
  const failMs = args.durationMs('fail-over', { min: 0 });
  const symfs = args.string('symfs');
  const seen = await read(path, {
    limit,
    ...(slowMs === undefined ? {} : { slowNs: Math.round(slowMs * NS_PER_MS) }),
    ...optional({ symfs }),
  });
  if (args.boolean('json')) out.json({ ...seen.answer, diagnostics: seen.diagnostics });
  else if (picture !== '-') printLoops(seen.answer, out);
  out.flush();
  if (picture !== undefined) await writePicture(context, picture, seen.answer);
  printDiagnostics(seen.diagnostics, err, args.boolean('verbose'));
  if (status !== EXIT_OK) return status;
  if (failMs !== undefined && isOver(seen.answer, failMs * NS_PER_MS, context)) return EXIT_SLOW;
  return args.boolean('fail-on-loss') && seen.answer.loss.length > 0 ? EXIT_LOSS : EXIT_OK;
}

async function writePicture({ args, out, err }: Context, path: string, seen: LoopsAnswer): Promise<void> {
  const bytes = await writeChunks([writeLoopSvg(seen)], path, out);
  if (bytes === null || args.boolean('quiet')) return;
  err.line(`counterpoint loop: wrote ${formatBytes(bytes)} to ${path}`);
}

/** Before anything is watched: what cannot be written would be lost at the end. */
function checkPicture({ args }: Context): void {
  const path = args.string('output');
  if (path === undefined) return;
  if (path === '-' && args.boolean('json'))
    throw new UsageError(
      '--json and the picture cannot both go to standard output',
      'Give -o the name of a file.',
    );
  if (path !== '-' && !path.endsWith('.svg'))
    throw new UsageError(
      `the picture is SVG, and ${path} does not end in .svg`,
      'Name the file FILE.svg; --record=FILE keeps the recording.',
    );
}

interface Wanted {
  limit: number;
  slowNs?: number;
  symfs?: string;
}

async function read(
  path: string,
  { symfs, ...options }: Wanted,
): Promise<{ answer: LoopsAnswer; diagnostics: Diagnostic[] }> {
  await using recording = await openRecording(path, optional({ symfs }));
  return await recording.eventLoops(options);
}

/** Loading is no turn: programs do not answer anybody yet. */
function isOver({ loops }: LoopsAnswer, mostNs: number, { err }: Context): boolean {
  const worstNs = Math.max(0, ...loops.map(longestTurnNs));
  if (worstNs <= mostNs) return false;
  const text = `a turn took ${formatDuration(worstNs)}, more than ${formatDuration(mostNs)}`;
  err.line(err.style.red(`counterpoint loop: ${text}`));
  return true;
}

/** Also of one that was cut: it took at least so long. */
function longestTurnNs({ lengths, longest }: LoopRow): number {
  const cut = longest.filter(({ kind }) => kind !== 'start').map(({ lengthNs }) => lengthNs);
  return Math.max(lengths?.maxNs ?? 0, ...cut);
}
