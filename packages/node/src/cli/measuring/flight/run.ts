import { MOST_TIMER_MS, optional, printableJson } from '@counterpoint/core/base';
import type { Note } from '../../../linux/kernel/perf-events/index.ts';
import { CommandError } from '../../../linux/kernel/target/index.ts';
import {
  type FlightDump,
  type FlightEnd,
  type FlightOptions,
  type FlightRecorder,
  flight,
} from '../../../linux/sample/flight/index.ts';
import type { VerbContext } from '../../common/args.ts';
import { countOf, formatBytes, formatDuration } from '../../common/human.ts';
import { lossLines } from '../../common/loss-text.ts';
import { printError } from '../../common/output-error.ts';
import { ProgressLine } from '../../common/progress.ts';
import { UsageError } from '../../common/usage-error.ts';
import { packageVersion } from '../../common/version.ts';
import { listFormats } from '../list/formats.ts';
import { takeEventTables } from '../shared/event-tables.ts';
import { formatsAskedAbout } from '../shared/format-help.ts';
import { samplingRequest } from '../shared/sampling-options.ts';
import { statusAfter, stopOnSignals, tellWait } from '../shared/stop-signals.ts';
import type { FlightName } from './flight.ts';
import { type PersonTriggers, personTriggers, waitForPerson } from './person-triggers.ts';

type Context = VerbContext<FlightName>;
type Arguments = Context['args'];

const PROGRESS_MS = 500;
const NS_PER_MS = 1e6;
const DEFAULT_TRIGGER = 'signal:USR2';
const USR2 = /^signal(:(SIG)?USR2)?$/i;

/** Watches until the target ends or a signal comes, and says what each trigger has written. */
export async function runFlight(context: Context): Promise<number> {
  const { args, err } = context;
  const isQuiet = args.boolean('quiet');
  const formats = formatsAskedAbout(args.all('format'));
  if (formats.length > 0) return await listFormats(formats, { json: args.boolean('json') }, context.out);
  // Always: the signal would end a recorder that does not wait for it, and all that it holds.
  const asked = args.all('on');
  const texts = asked.some((text) => USR2.test(text)) ? asked : [...asked, DEFAULT_TRIGGER];
  const persons = personTriggers(texts, args.words.length > 0);
  const options = flightOptions(args, persons);
  await takeEventTables(args.all('event-tables'), { verbose: args.boolean('verbose'), quiet: isQuiet }, err);
  using stop = stopOnSignals(tellWait('flight', err));
  const teller = new Teller(context, args.number('max-dumps', { min: 1 }) ?? Number.POSITIVE_INFINITY);
  let recorder: FlightRecorder;
  try {
    recorder = await flight({
      ...options,
      onDump: (dump) => teller.dumped(dump),
      onDumpError: (error) => teller.failed(error),
      onNote: (notes) => teller.notes(notes),
      signal: AbortSignal.any([stop.signal, teller.enough]),
    });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint flight' });
    return error.exitStatus;
  }
  const ask = (why: string) =>
    void recorder.dump(why).then(
      (dump) => teller.dumped(dump),
      (error) => teller.failed(error),
    );
  stop.follow(recorder.pid);
  teller.started(recorder, texts);
  let end: FlightEnd;
  {
    using _persons = waitForPerson(persons, ask, err);
    using _progress = teller.showProgress(recorder);
    end = await recorder.ended;
  }
  teller.ended(recorder, end);
  return statusAfter(
    await stop.lastReceived(),
    end.reason === 'command-exited' ? (end.exit?.code ?? null) : null,
  );
}

/** Only records of processes and maps go through a ring that can be full; no option makes it larger. */
const LOST_HERE = {
  'ring-full':
    'records of processes and maps lost because flight got no CPU for too long: what ran then may have another name',
};

/** What a person or a script is told. */
class Teller {
  readonly #context: Context;
  readonly #isQuiet: boolean;
  readonly #maxDumps: number;
  readonly #controller = new AbortController();
  #shownNotes = 0;
  #dumps = 0;
  #failed = 0;

  constructor(context: Context, maxDumps: number) {
    this.#context = context;
    this.#isQuiet = context.args.boolean('quiet');
    this.#maxDumps = maxDumps;
  }

  /** Aborted after as many files as were asked for. */
  get enough(): AbortSignal {
    return this.#controller.signal;
  }

  #say(text: string): void {
    const { err } = this.#context;
    if (this.#isQuiet) return;
    err.line(text);
    err.flush();
  }

  notes(notes: readonly Note[]): void {
    const { err } = this.#context;
    for (const { text } of notes.slice(this.#shownNotes))
      this.#say(err.style.yellow(`counterpoint flight: ${text}`));
    this.#shownNotes = notes.length;
  }

  started(recorder: FlightRecorder, triggers: readonly string[]): void {
    this.notes(recorder.notes);
    const { ringBytes } = recorder.status();
    this.#say(
      `counterpoint flight: watching, ${formatBytes(ringBytes)} of history; a file on ${triggers.join(', ')} (this is process ${process.pid})`,
    );
  }

  dumped(dump: FlightDump): void {
    const { args, out } = this.#context;
    this.#dumps++;
    if (args.boolean('json')) {
      out.line(printableJson({ type: 'flight-dump', version: 1, ...dump, atNs: dump.atNs.toString() }));
      out.flush();
    }
    const { path, trigger, records, samples, bytes, spanMs, suppressed } = dump;
    this.#say(
      `[ counterpoint flight: ${trigger}: wrote ${formatBytes(bytes)} ${path} (${countOf(records, 'record')}, ${formatDuration(spanMs * NS_PER_MS)}) ]`,
    );
    if (samples === 0)
      this.#say(
        '[ counterpoint flight: EMPTY: no samples: in this time no thread used the CPU for a whole period of a clock, and no event came ]',
      );
    for (const line of lossLines(dump.loss, [], LOST_HERE))
      this.#say(`[ counterpoint flight: LOST: ${line} ]`);
    if (suppressed > 0)
      this.#say(
        `[ counterpoint flight: ${countOf(suppressed, 'trigger')} came too soon after a file and wrote none (--min-interval) ]`,
      );
    for (const old of dump.removed)
      this.#say(`[ counterpoint flight: removed ${old} (--max-files, --max-size) ]`);
    if (this.#dumps >= this.#maxDumps) this.#controller.abort();
  }

  failed(error: unknown): void {
    this.#failed++;
    printError(error instanceof Error ? error : new Error(String(error)), this.#context.err, {
      prefix: 'counterpoint flight',
    });
    this.#context.err.flush();
  }

  showProgress(recorder: FlightRecorder): Disposable {
    const { err } = this.#context;
    const line = new ProgressLine(err);
    const timer = setInterval(() => {
      if (!this.#isQuiet) line.update(() => progressText(recorder));
    }, PROGRESS_MS);
    return {
      [Symbol.dispose]: () => {
        clearInterval(timer);
        line.close();
      },
    };
  }

  ended(recorder: FlightRecorder, { reason }: FlightEnd): void {
    this.notes(recorder.notes);
    const { suppressed } = recorder.status();
    const why = {
      stopped: 'stopped',
      'command-exited': 'the command has ended',
      'target-ended': 'the target has ended',
    };
    const none = this.#failed === 0 ? 'no trigger fired, so there is no file' : 'no file';
    const files = this.#dumps === 0 ? none : countOf(this.#dumps, 'file');
    const failed = this.#failed === 0 ? '' : `, ${countOf(this.#failed, 'file')} could not be written`;
    const soon = suppressed === 0 ? '' : `, ${countOf(suppressed, 'trigger')} came too soon after a file`;
    this.#say(`[ counterpoint flight: ${why[reason]}: ${files}${failed}${soon} ]`);
  }
}

function progressText(recorder: FlightRecorder): string {
  const { heldMs, bytesPerSecond, ringBytes, formatBytes: counted, dumps } = recorder.status();
  const counts = counted === 0 ? '' : `, ${formatBytes(counted)} kept apart`;
  return `history: ${(heldMs / 1000).toFixed(1)} s of at most ${formatBytes(ringBytes)}, ${formatBytes(Math.round(bytesPerSecond))}/s${counts}, ${countOf(dumps, 'file')}`;
}

function flightOptions(args: Arguments, { others }: PersonTriggers): FlightOptions {
  const hasTarget = args.has('pid') || args.has('tid') || args.has('cpu') || args.boolean('all-cpus');
  if (!hasTarget && args.words.length === 0)
    throw new UsageError(
      'there is nothing to watch',
      'Give a command, a process (-p PID), a thread (-t TID) or all CPUs (-a).',
    );
  const mode = args.string('call-graph', 'fp');
  if (mode !== 'fp' && mode !== 'no') throw args.refuse('call-graph', 'fp or no');
  return {
    command: args.words,
    systemWide: args.boolean('all-cpus'),
    callGraph: mode === 'fp',
    inherit: !args.boolean('no-inherit'),
    ...samplingRequest(args),
    buildIds: !args.boolean('no-buildid'),
    fixedSize: args.boolean('fixed-size'),
    ...(args.has('format') ? { formats: args.all('format') } : {}),
    on: others,
    ...(args.has('pid') ? { pids: args.numbers('pid', { min: 1 }) } : {}),
    ...(args.has('tid') ? { tids: args.numbers('tid', { min: 1 }) } : {}),
    ...(args.has('cpu') ? { cpus: args.ranges('cpu') } : {}),
    ...optional({
      minIntervalMs: args.durationMs('min-interval', { min: 0, max: MOST_TIMER_MS }),
      keepMs: args.durationMs('keep', { min: 1 }),
      memoryBytes: args.sizeBytes('memory', { min: 1 }),
      directory: args.string('output'),
      prefix: args.string('prefix'),
      maxFiles: args.number('max-files', { min: 1 }),
      maxFileBytes: args.sizeBytes('max-size', { min: 1 }),
    }),
    // Another Ctrl-C ends the waiting.
    commandGraceMs: Number.POSITIVE_INFINITY,
    toolVersion: `counterpoint ${packageVersion()}`,
    commandLine: [process.argv[1] ?? 'counterpoint', ...process.argv.slice(2)],
  };
}
