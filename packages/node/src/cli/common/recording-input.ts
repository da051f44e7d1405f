import { fstatSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { PERF_SAMPLE_CPU, PERF_SAMPLE_TIME } from '@counterpoint/core/abi';
import {
  CounterpointError,
  type Damage,
  type Diagnostic,
  optional,
  printable,
} from '@counterpoint/core/base';
import type { SampleFilter, TimeRange } from '@counterpoint/core/ingest';
import type { LossEntry } from '@counterpoint/core/loss';
import type { PerfDataFeatures, PerfDataReader } from '@counterpoint/core/perfdata';
import type { Profile } from '@counterpoint/core/profile';
import type { Recording, RecordingOptions } from '../../host/open/index.ts';
import { EXIT_FAILURE, EXIT_LOSS, EXIT_OK } from './args.ts';
import type { OptionRow } from './option-row.ts';
import type { Output } from './output.ts';
import type { ParsedArguments } from './parsed-arguments.ts';
import { parseTimes, TimeFormError } from './time-option.ts';
import { UsageError } from './usage-error.ts';

export type InputName =
  | 'input'
  | 'kcore'
  | 'symfs'
  | 'pid'
  | 'tid'
  | 'cpu'
  | 'comms'
  | 'time'
  | 'fail-on-loss';

/** Options of every verb that reads a recording. */
export const INPUT_OPTIONS: readonly OptionRow<InputName>[] = [
  {
    long: 'input',
    short: 'i',
    value: 'FILE',
    help: 'the recording; `-` for standard input (default perf.data)',
    group: 'Input',
  },
  {
    long: 'kcore',
    value: 'FILE',
    help: "for a hardware trace: the kernel's code as it ran, a copy of its /proc/kcore (default: beside the recording, then perf's cache, then this kernel)",
    group: 'Input',
  },
  {
    long: 'symfs',
    value: 'DIR',
    help: "look for the recorded programs under DIR, a copy of that machine's files",
    group: 'Input',
  },
  { long: 'pid', value: 'PID,...', help: 'only samples of these processes', group: 'Filter' },
  { long: 'tid', value: 'TID,...', help: 'only samples of these threads', group: 'Filter' },
  { long: 'comms', value: 'NAME,...', help: 'only samples of these commands', repeat: true, group: 'Filter' },
  {
    long: 'cpu',
    short: 'C',
    value: 'CPUS',
    help: 'only samples on these CPUs, such as 0-3,8',
    group: 'Filter',
  },
  {
    long: 'time',
    value: 'FROM,TO',
    help: 'only samples between these times in seconds; leave out either for the beginning or the end; put\nblanks between several; or parts of the whole: 10%-20%,40%-50%, 10% (the first tenth), 10%/2 (the second)',
    group: 'Filter',
  },
  {
    long: 'fail-on-loss',
    help: 'exit with 3 if the recording is known to lack something',
    group: 'General',
  },
];

/** The part of any reading verb's arguments that is about its input. */
export type InputArguments = Pick<
  ParsedArguments<InputName>,
  'words' | 'shown' | 'has' | 'string' | 'numbers' | 'list' | 'ranges' | 'boolean' | 'refuse'
>;

/**
 * The file to read: as given, else standard input where something is piped in,
 * else `perf.data`, as perf does. Refuses words that are neither.
 */
export function inputName(args: {
  readonly words: readonly string[];
  string(name: 'input'): string | undefined;
}): string {
  const [given, tooMuch] = [args.string('input') ?? [], args.words].flat();
  if (tooMuch !== undefined)
    throw new UsageError(
      `there is a word too many: ${printable(tooMuch)}`,
      `The recording is ${printable(given!)}. To draw a flame graph of it, use counterpoint export`,
    );
  if (given !== undefined) return given;
  try {
    if (fstatSync(0).isFIFO()) return '-';
  } catch {
    // Standard input is closed.
  }
  return 'perf.data';
}

/** `keepStream`: a hardware trace in it is asked for, which takes more than one reading. */
export async function openInput(
  args: InputArguments,
  keepStream: RecordingOptions['keepStream'] = false,
): Promise<Recording> {
  const { openRecording } = await import('../../host/open/index.ts');
  const path = inputName(args);
  const kcore = args.string('kcore');
  const symfs = args.string('symfs');
  if (symfs !== undefined) await requireDirectory(symfs);
  const places = optional({ symfs });
  if (kcore === undefined) return openRecording(path, { keepStream, ...places });
  const { diskDriver } = await import('../../host/locate/index.ts');
  return openRecording(path, { keepStream, symbols: diskDriver({ ...places, kernelCore: kcore }) });
}

/** A directory that is not there would look like programs without symbols. */
async function requireDirectory(path: string): Promise<void> {
  const facts = await stat(path).catch(() => null);
  if (facts?.isDirectory() !== true)
    throw new UsageError(`--symfs: there is no directory ${printable(path)}`);
}

/**
 * Refuses a recording of counts. Of a stream, and of a file that was cut off, it is
 * known to be one after reading.
 */
export function refuseCounts(args: InputArguments, { holdsCounts }: Recording): void {
  if (!holdsCounts) return;
  const name = inputName(args);
  throw new CounterpointError(
    'ERR_NO_SAMPLES',
    `${name === '-' ? 'standard input' : printable(name)} has counts, not samples`,
    'counterpoint stat report shows them.',
  );
}

/**
 * The filter that the options ask for, or undefined where they ask for none.
 * Refuses a recording without samples.
 */
export async function sampleFilter(
  args: InputArguments,
  recording: Recording,
): Promise<SampleFilter | undefined> {
  refuseCounts(args, recording);
  const filter: SampleFilter = {};
  const pids = args.numbers('pid', { min: -1 });
  const tids = args.numbers('tid', { min: -1 });
  const comms = args.list('comms');
  const cpus = args.ranges('cpu');
  if (pids.length > 0) filter.pids = new Set(pids);
  if (tids.length > 0) filter.tids = new Set(tids);
  if (comms.length > 0) filter.comms = new Set(comms);
  if (cpus.length > 0) filter.cpus = new Set(cpus);
  const time = args.string('time');
  if (cpus.length === 0 && time === undefined) return Object.keys(filter).length > 0 ? filter : undefined;
  // What a stream holds is known only after reading.
  const reader = recording.isStream ? null : await recording.reader();
  if (reader !== null && cpus.length > 0) refuseUnrecorded(args, 'cpu', reader, PERF_SAMPLE_CPU);
  if (reader !== null && time !== undefined) refuseUnrecorded(args, 'time', reader, PERF_SAMPLE_TIME);
  if (time !== undefined) filter.times = timesOf(time, reader?.features.sampleTime, args);
  return filter;
}

const UNRECORDED = {
  cpu: 'on which CPU its samples were taken',
  time: 'when its samples were taken',
} as const;

/** A filter by what no event of the recording has would find nothing, whatever there is. */
function refuseUnrecorded(
  args: InputArguments,
  name: keyof typeof UNRECORDED,
  { events: { events } }: PerfDataReader,
  bit: number,
): void {
  if (events.length === 0 || events.some(({ layout }) => (layout.sampleType & bit) !== 0)) return;
  throw new CounterpointError(
    'ERR_NOT_RECORDED',
    `${args.shown(name)} cannot be answered: the recording does not say ${UNRECORDED[name]}`,
    `Leave ${args.shown(name)} out.`,
  );
}

/** The options that choose samples. */
export const FILTERS = ['pid', 'tid', 'comms', 'cpu', 'time'] as const;

/** Filters as they were given, for messages: `--comms node, --time 1,2`. */
export function filterWords<Name extends string>(
  args: ParsedArguments<Name>,
  names: readonly Name[],
): string {
  return names
    .flatMap((name) => args.all(name).map((value) => `${args.shown(name)} ${printable(value)}`))
    .join(', ');
}

function timesOf(
  text: string,
  span: PerfDataFeatures['sampleTime'],
  args: InputArguments,
): readonly TimeRange[] {
  try {
    return parseTimes(text, span);
  } catch (error) {
    if (error instanceof TimeFormError) throw args.refuse('time', error.message);
    throw error;
  }
}

/** Options that an answer would not heed: saying so beats answering another question. */
export function refuseOthers<Name extends string>(
  args: ParsedArguments<Name>,
  answer: string,
  names: readonly Name[],
  remedy = '',
): void {
  const given = names.find((name) => args.has(name));
  if (given !== undefined) throw new UsageError(`${args.shown(given)} does not go with ${answer}`, remedy);
}

/** What an answer says of its recording. */
export interface Completeness {
  loss: readonly LossEntry[];
  damage: readonly Damage[];
  /** Samples that passed the filters. */
  samples: number;
}

/**
 * Exit status after a report: 1 where the file ends before its first sample, so that there is no answer; 3
 * where something is lost or damaged and `--fail-on-loss` was given.
 */
export function statusOfAnswer(
  args: InputArguments,
  { loss, damage, samples }: Completeness,
  err: Output,
): number {
  const isCut = loss.some(({ kind }) => kind === 'file-truncated');
  if (samples === 0 && isCut && !FILTERS.some((name) => args.has(name))) return sayCut(err, 'sample');
  return statusOfLoss(args, { loss, damage });
}

export function statusOfLoss(args: InputArguments, { loss, damage }: Omit<Completeness, 'samples'>): number {
  return args.boolean('fail-on-loss') && loss.length + damage.length > 0 ? EXIT_LOSS : EXIT_OK;
}

/** The recording was cut off before there was anything to answer with. Returns the exit status. */
export function sayCut(err: Output, wanted: 'sample' | 'event' | 'count'): number {
  err.line(
    `counterpoint: the recording ends before its first ${wanted}: the file was cut off, or never finished`,
  );
  err.line('  Copy it again from its machine, or record again.');
  return EXIT_FAILURE;
}

/**
 * Diagnostics of symbol look-ups, in words, on standard error: one line per kind, with the files it is about.
 */
export function printDiagnostics(diagnostics: readonly Diagnostic[], err: Output, verbose: boolean): void {
  const byCode = new Map<string, Diagnostic[]>();
  for (const diagnostic of diagnostics) {
    const same = byCode.get(diagnostic.code);
    if (same === undefined) byCode.set(diagnostic.code, [diagnostic]);
    else same.push(diagnostic);
  }
  for (const same of byCode.values()) {
    const { detail, remedy } = same[0]!;
    const shown = verbose ? same : same.slice(0, 4);
    const names = shown.map(({ path }) => printable(path.slice(path.lastIndexOf('/') + 1))).join(', ');
    const more = same.length > shown.length ? ` and ${same.length - shown.length} more` : '';
    err.line(err.style.yellow(`Note: ${names}${more}: ${printable(detail)}`));
    if (remedy !== '') err.line(`  ${remedy}`);
  }
}

/**
 * Diagnostics without notes on binaries in which next to nothing happened; a stripped library
 * is only news where it matters.
 */
export function notableDiagnostics(diagnostics: readonly Diagnostic[], profile: Profile): Diagnostic[] {
  const weights = new Map<string, number>();
  const { samples, stacks, frames, binaries } = profile;
  let total = 0;
  for (let row = 0; row < samples.length; row++) {
    const stack = samples.stack.at(row);
    if (stack < 0) continue;
    const { path } = binaries[frames.binary.at(stacks.frame.at(stack))]!;
    weights.set(path, (weights.get(path) ?? 0) + samples.count.at(row));
    total += samples.count.at(row);
  }
  return diagnostics.filter(
    ({ code, path }) => code !== 'exported-only' || (weights.get(path) ?? 0) >= total * 0.01,
  );
}
