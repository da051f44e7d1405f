import { optional, printable } from '@counterpoint/core/base';
import { WriteError } from '../../../host/files/index.ts';
import type { CountingSession } from '../../../linux/count/counting/index.ts';
import {
  countRun,
  type Measurement,
  type RunResult,
  rememberThreadNames,
} from '../../../linux/count/stat/index.ts';
import { CommandError } from '../../../linux/kernel/target/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { printError } from '../../common/output-error.ts';
import { UsageError } from '../../common/usage-error.ts';
import { sysOfAttrFiles } from '../shared/attr-files.ts';
import { COUNTING_COMMANDS, ControlChannel } from '../shared/control-channel.ts';
import { takeEventTables } from '../shared/event-tables.ts';
import { type SignalStop, statusAfter, stopOnSignals, tellWait } from '../shared/stop-signals.ts';
import { obey } from './control-commands.ts';
import { statAnswer } from './json.ts';
import { openResult } from './output.ts';
import { StatPrinter } from './printer.ts';
import type { CountsRecorder } from './recorder.ts';
import { type StatSettings, statSettings } from './settings.ts';
import type { StatName } from './stat.ts';
import { hasSeveralSets } from './text.ts';

type Context = VerbContext<StatName>;

const FOR_PROGRAMS = ['quiet', 'json', 'json-output', 'field-separator'] as const;

/** With `recordTo`, what is counted goes there, too: `stat record`. */
export async function runStat(context: Context, recordTo: string | null = null): Promise<number> {
  const { args, out, err } = context;
  refuseVerbs(args);
  if (recordTo === null && (args.has('event') || args.has('count-iterations'))) {
    const { runSoftStat } = await import('./soft.ts');
    const status = await runSoftStat(context);
    if (status !== null) return status;
  }
  // The counts go to standard error, too: where a program reads them, nothing else may stand there.
  const quiet = FOR_PROGRAMS.some((name) => args.has(name));
  await takeEventTables(args.all('event-tables'), { verbose: args.boolean('verbose'), quiet }, err);
  const asked = await statSettings(args);
  const settings = recordTo === null ? asked : { ...asked, output: null };
  const { saved } = settings;
  if (saved !== null) {
    const { saveControl } = await import('./control.ts');
    await saveControl(saved.path, saved.control, out);
  }
  if (args.boolean('plan')) {
    const { printStatPlan } = await import('./plan.ts');
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
    return await countAndPrint(settings, result.output, err, args.boolean('verbose'), recordTo);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint stat' });
    return error.exitStatus;
  } finally {
    result.close();
  }
}

/** perf's `stat -e cs record`: a program of that name would run unnoticed. */
function refuseVerbs({ words, isSeparated }: Context['args']): void {
  const [word] = words;
  if (isSeparated || (word !== 'record' && word !== 'report')) return;
  throw new UsageError(
    `the verb stat ${word} has two words that must stand together, before the options`,
    `counterpoint stat ${word} [options] …; for a program of that name: counterpoint stat [options] -- ${word}`,
  );
}

async function countAndPrint(
  settings: StatSettings,
  output: Output,
  err: Output,
  isVerbose: boolean,
  recordTo: string | null,
): Promise<number> {
  using stop = stopOnSignals(tellWait('stat', err));
  const recorder = recordTo === null ? null : await openRecorder(recordTo, settings, stop.signal, err);
  try {
    return await countRuns(settings, output, err, isVerbose, stop, recorder);
  } finally {
    await recorder?.close();
  }
}

async function openRecorder(
  path: string,
  settings: StatSettings,
  signal: AbortSignal,
  err: Output,
): Promise<CountsRecorder> {
  const { CountsRecorder } = await import('./recorder.ts');
  return new CountsRecorder(path, settings, signal, err);
}

async function countRuns(
  settings: StatSettings,
  output: Output,
  err: Output,
  isVerbose: boolean,
  stop: SignalStop,
  recorder: CountsRecorder | null,
): Promise<number> {
  const printer = printerOf(settings, output);
  const runs: RunResult[] = [];
  do {
    if (settings.sync) await syncFiles();
    printer.beginRun();
    const run = await runOnce(settings, stop, printer, err, isVerbose, recorder);
    // An unfinished run says nothing about the others.
    stop.follow(null);
    const isCutOff = run.stopped === 'aborted' && runs.length > 0;
    if (!isCutOff) runs.push(run);
    if (!isCutOff) recorder?.endRun(run.total);
    if (settings.runs === Number.POSITIVE_INFINITY && !isCutOff) printer.end([runs.pop()!]);
  } while (runs.length < settings.runs && !stop.signal.aborted && stop.received() === null);
  if (runs.length > 0) printer.end(runs);
  await recorder?.finish();
  const received = await stop.lastReceived();
  if (received !== null) return statusAfter(received, null);
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
  stop: SignalStop,
  printer: StatPrinter<RunResult>,
  err: Output,
  isVerbose: boolean,
  recorder: CountsRecorder | null,
): Promise<RunResult> {
  const { scope, command, control, options, delayMs, startDisabled, timeoutMs, intervalMs, intervalCount } =
    settings;
  let switchByHand: (() => void) | null = null;
  let channel: Disposable | null = null;
  let failure: WriteError | null = null;
  /** A full disk is no reason to leave the command to itself: whoever started us waits for both. */
  const printInterval = (interval: Measurement) => {
    try {
      if (failure === null) printer.interval(interval);
    } catch (error) {
      if (!(error instanceof WriteError) || command.length === 0) throw error;
      failure = error;
      err.line(`counterpoint stat: ${error.message}: no more is printed; the command goes on`);
      err.flush();
    }
  };
  try {
    const result = await countRun({
      scope,
      command,
      control,
      ...options,
      ...(await sysOfAttrFiles()),
      delayMs,
      startDisabled,
      signal: stop.signal,
      ...optional({ timeoutMs, intervalMs, intervalCount }),
      onStart: async ({ sessions, commandPid }) => {
        stop.follow(commandPid);
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
        const [session] = sessions;
        if (session !== undefined) await recorder?.begin(session);
      },
      onInterval: (interval, sofar) => {
        printInterval(interval);
        recorder?.round(sofar);
      },
    });
    if (failure !== null) throw failure;
    // The command has ended, because a signal came.
    return stop.received() === null ? result : { ...result, stopped: 'aborted' };
  } finally {
    if (switchByHand !== null) process.off('SIGUSR2', switchByHand);
    (channel as Disposable | null)?.[Symbol.dispose]();
  }
}

/** `--control` of one run. */
function obeyCommands(
  { commands }: StatSettings,
  sessions: readonly CountingSession[],
  err: Output,
): Disposable | null {
  if (commands === null) return null;
  return new ControlChannel(
    commands,
    COUNTING_COMMANDS,
    (command) => obey(command, sessions, err),
    (line) => err.line(`counterpoint stat: --control does not know '${printable(line)}'`),
  );
}

async function syncFiles(): Promise<void> {
  const { spawnSync } = await import('node:child_process');
  spawnSync('sync', { stdio: 'ignore' });
}

function printerOf(settings: StatSettings, output: Output): StatPrinter<RunResult> {
  const { scope, control, intervalMs } = settings;
  const hasHead = settings.output !== null && settings.output !== '-';
  return new StatPrinter<RunResult>(
    {
      ...settings,
      hideIdle: scope.kind === 'all-threads',
      subject: subject(settings),
      startedAt: hasHead ? new Date() : null,
      hasTimes: scope.kind === 'command',
      hasIntervals: intervalMs !== undefined,
      withSets: hasSeveralSets(control),
      countsNothing: control === null,
      answer: (runs, rows) => statAnswer(settings, runs, rows),
    },
    settings.quiet ? null : output,
  );
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
