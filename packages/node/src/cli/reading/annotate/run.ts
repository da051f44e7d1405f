import { stat } from 'node:fs/promises';
import {
  CounterpointError,
  type Diagnostic,
  didYouMean,
  nearestNames,
  optional,
  printable,
} from '@counterpoint/core/base';
import type { IngestResult } from '@counterpoint/core/ingest';
import type { Profile } from '@counterpoint/core/profile';
import { diskDriver } from '../../../host/locate/index.ts';
import { isOfThisMachine, openRecording, type Recording } from '../../../host/open/index.ts';
import { EXIT_FAILURE, type VerbContext } from '../../common/args.ts';
import { countOf } from '../../common/human.ts';
import { itraceOptions } from '../../common/itrace-option.ts';
import { ProgressLine } from '../../common/progress.ts';
import {
  FILTERS,
  filterWords,
  inputName,
  notableDiagnostics,
  printDiagnostics,
  sampleFilter,
  statusOfAnswer,
} from '../../common/recording-input.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { AnnotateName } from './annotate.ts';
import type { Annotation } from './annotation.ts';
import { NoCode } from './code-of-binary.ts';
import { CodeOfRecording } from './code-of-recording.ts';
import { disassemblerFor, preloadDisassembler, type Syntax } from './disassembler.ts';
import { type FunctionSamples, functionSamples, type Hits, namesOf } from './function-samples.ts';
import { annotationJson } from './json.ts';
import { listFunction, type PercentType, shareOf } from './listing.ts';
import { SourceText } from './source-text.ts';
import { printAnnotation } from './text.ts';

type Context = VerbContext<AnnotateName>;

const PERCENT_TYPES = ['local-period', 'local-hits', 'global-period', 'global-hits'] as const;
const DEFAULT_LIMIT = 5;
/** One sample for each instruction: counts, where the recording has a trace. */
const EVERY_INSTRUCTION = 'i1i';

/** What is asked for, looked at before anything is read. */
interface Request {
  symbol: string | null;
  percentType: PercentType;
  syntax: Syntax;
  limit: number;
  output: string | null;
}

export async function runAnnotate(context: Context): Promise<number> {
  const { args, out, err } = context;
  const request = requestOf(args);
  const symfs = args.string('symfs');
  const kernelCore = args.string('kcore');
  const driver = diskDriver(optional({ symfs, kernelCore }));
  const name = inputName({ words: [], string: (option) => args.string(option) });
  await using recording = await openRecording(name, {
    symbols: driver,
    keepStream: true,
  });
  preloadDisassembler();
  const { result, isExact } = await readProfile(context, recording);
  const { profile } = result;
  const { loss, damage } = profile;
  const samples = profile.events.reduce((sum, event) => sum + event.samples, 0);
  const chosen = chooseFunctions(profile, args, request);
  if (chosen instanceof CounterpointError) {
    // Whose names are missing may be why.
    sayNotes(context, result, [], null);
    throw chosen;
  }
  const source = args.boolean('source', true) ? new SourceText(recording.symbols, writtenMs) : null;
  await using code = new CodeOfRecording(recording, result, recording.symbols, isOfThisMachine(profile.meta));
  const annotations: Annotation[] = [];
  for (const one of chosen.functions)
    annotations.push(await annotate(one, profile, { request, code, source, isExact }));
  if (args.boolean('json'))
    out.json({
      type: 'annotate',
      version: 1,
      functions: annotations.map((one) => annotationJson(one, source)),
      loss,
      damage,
      diagnostics: [...result.diagnostics, ...code.diagnostics, ...(source?.diagnostics ?? [])],
    });
  else if (request.output !== null) {
    const { writePage } = await import('./page.ts');
    await writePage(annotations, source, request.output, out, err);
  } else printText(annotations, source, args, out);
  if (annotations.length === 0) sayNothing(context, profile);
  else if (chosen.more > 0 && !args.boolean('quiet'))
    err.line(`${countOf(chosen.more, 'function')} more: --limit, or name one.`);
  out.flush();
  if (!args.boolean('quiet')) sayNotes(context, result, code.diagnostics, source);
  const status = statusOfAnswer(args, { loss, damage, samples }, err);
  const isShown = annotations.some(({ listing }) => !(listing instanceof NoCode));
  return status === 0 && !isShown ? EXIT_FAILURE : status;
}

function requestOf(args: Context['args']): Request {
  const [word, ...more] = args.words;
  const option = args.string('symbol');
  if (more.length > 0 || (word !== undefined && option !== undefined))
    throw new UsageError('one function at a time', 'Quote names with blanks; the recording is given by -i.');
  const output = args.string('output') ?? null;
  if (output !== null && args.boolean('json')) throw new UsageError('--json does not go with --output');
  if (output !== null && output !== '-' && !/\.html?$/.test(output))
    throw args.refuse('output', 'a file that ends in .html');
  return {
    symbol: word ?? option ?? null,
    percentType: args.choice('percent-type', PERCENT_TYPES) ?? 'local-period',
    syntax: args.choice('disassembler-style', ['att', 'intel']) ?? 'att',
    limit: args.number('limit', { min: 1 }, DEFAULT_LIMIT),
    output,
  };
}

async function readProfile(
  { args, err }: Context,
  recording: Recording,
): Promise<{ result: IngestResult; isExact: boolean }> {
  using progress = new ProgressLine(err);
  const filter = await sampleFilter(args, recording);
  const letters = args.string('itrace') ?? '';
  const isExact = letters === '' || letters === EVERY_INSTRUCTION;
  const itrace = await itraceOptions(args, 'report', letters === '' ? EVERY_INSTRUCTION : undefined);
  const result = await recording.profile({
    aggregate: true,
    innermostOnly: true,
    ...optional({ filter }),
    ...(itrace === null ? {} : { itrace }),
    onProgress: progress.listener(),
  });
  return { result, isExact: itrace !== null && isExact };
}

/** The functions to show, and how many hot ones are left out; or why there is none of that name. */
function chooseFunctions(
  profile: Profile,
  args: Context['args'],
  { symbol, limit }: Request,
): { functions: FunctionSamples[]; more: number } | CounterpointError {
  const event = args.string('event');
  if (event !== undefined && !profile.events.some(({ name }) => name === event))
    throw args.refuse('event', `one of ${profile.events.map(({ name }) => name).join(', ')}`);
  const dsos = args.list('dsos');
  const all = functionSamples(profile).filter(
    (one) => event === undefined || profile.events[one.event]!.name === event,
  );
  const inDsos = all.filter(
    ({ binary }) => dsos.length === 0 || dsos.some((dso) => isNamed(profile.binaries[binary]!, dso)),
  );
  if (symbol !== null) {
    const functions = inDsos.filter((one) => namesOf(one.symbol).includes(symbol));
    if (functions.length === 0) return noFunction(symbol, inDsos, all, dsos);
    return { functions, more: 0 };
  }
  const ofEvent = new Map<number, number>();
  const functions = inDsos.filter((one) => {
    const count = (ofEvent.get(one.event) ?? 0) + 1;
    ofEvent.set(one.event, count);
    return count <= limit;
  });
  return { functions, more: inDsos.length - functions.length };
}

function isNamed({ name, path }: { name: string; path: string }, dso: string): boolean {
  return dso === name || dso === path || (dso === '[JIT]' && name.startsWith('[JIT]'));
}

function noFunction(
  symbol: string,
  candidates: readonly FunctionSamples[],
  all: readonly FunctionSamples[],
  dsos: readonly string[],
): CounterpointError {
  const elsewhere = all.some((one) => namesOf(one.symbol).includes(symbol));
  const names = [...new Set(candidates.flatMap((one) => namesOf(one.symbol)))];
  const hint = didYouMean(nearestNames(symbol, names));
  const hottest = candidates.slice(0, 3).map((one) => printable(one.symbol));
  return new CounterpointError(
    'ERR_NO_SUCH_FUNCTION',
    elsewhere
      ? `no sample fell into ${printable(symbol)} of ${dsos.map(printable).join(', ')}, but some did in another binary`
      : `no sample fell into a function ${printable(symbol)}${hint}`,
    hottest.length === 0
      ? 'No function has samples: report says where they fell.'
      : `Only time in the function itself counts, not that of those it calls; one that was inlined counts as its caller. The hottest: ${hottest.join(', ')}`,
  );
}

interface Tools {
  request: Request;
  code: CodeOfRecording;
  source: SourceText | null;
  isExact: boolean;
}

async function annotate(
  samples: FunctionSamples,
  profile: Profile,
  { request, code, source, isExact }: Tools,
): Promise<Annotation> {
  const { percentType, syntax } = request;
  const event = profile.events[samples.event]!;
  const all: Hits = { samples: event.samples, period: Number(event.sumPeriod) };
  const found = await code.of(samples);
  const head = {
    samples,
    binary: profile.binaries[samples.binary]!,
    eventName: event.name,
    unit: event.unit,
    all,
    percentType,
    isExact: isExact && event.name.startsWith('instructions'),
  };
  if (found instanceof NoCode) return { ...head, listing: found };
  const disassembler = await disassemblerFor(found.machine, syntax);
  const listing = await listFunction(samples, found, disassembler, shareOf(percentType, samples, all));
  for (const { file } of source === null ? [] : listing.lines)
    await source!.load(file, samples.pid, found.path);
  return { ...head, listing };
}

function printText(
  annotations: readonly Annotation[],
  source: SourceText | null,
  args: Context['args'],
  out: Context['out'],
): void {
  const options = {
    source,
    showSamples: args.boolean('show-nr-samples'),
    listLines: args.boolean('print-line'),
    fullPaths: args.boolean('full-paths'),
    showBytes: args.boolean('asm-raw'),
  };
  annotations.forEach((annotation, place) => {
    if (place > 0) out.line();
    printAnnotation(annotation, options, out);
  });
}

/** An empty answer has a reason. */
function sayNothing({ args, err }: Context, profile: Profile): void {
  const given = filterWords(args, [...FILTERS, 'dsos', 'event']);
  const samples = profile.events.reduce((sum, event) => sum + event.samples, 0);
  if (given !== '') err.line(err.style.yellow(`Note: no function passes ${given}.`));
  else if (samples === 0) err.line(err.style.yellow('Note: the recording has no samples.'));
  else
    err.line(
      err.style.yellow(
        `Note: none of ${countOf(samples, 'sample')} fell into a function with a name: report shows their binaries.`,
      ),
    );
}

function sayNotes(
  { args, err }: Context,
  { diagnostics, profile }: IngestResult,
  ofCode: readonly Diagnostic[],
  source: SourceText | null,
): void {
  const verbose = args.boolean('verbose');
  const notable = verbose ? diagnostics : notableDiagnostics(diagnostics, profile);
  printDiagnostics([...notable, ...ofCode, ...(source?.diagnostics ?? [])], err, verbose);
}

async function writtenMs(path: string): Promise<number | null> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? null;
}
