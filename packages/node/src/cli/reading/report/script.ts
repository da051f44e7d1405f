import { optional, printableJson } from '@counterpoint/core/base';
import type { FieldChoice } from '@counterpoint/core/query';
import { defineVerb } from '../../common/args.ts';
import { countOf } from '../../common/human.ts';
import { ITRACE_OPTION, type ItraceName, itraceOptions, keepsStream } from '../../common/itrace-option.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { RECORD_LINES_OPTIONS, type RecordLinesName, recordKinds } from '../../common/record-lines-option.ts';
import {
  FILTERS,
  filterWords,
  INPUT_OPTIONS,
  type InputName,
  inputName,
  openInput,
  printDiagnostics,
  refuseCounts,
  refuseOthers,
  sampleFilter,
  statusOfAnswer,
} from '../../common/recording-input.ts';
import { SOURCE_MAPS_OPTION, type SourceMapsName, sourceMapsOf } from '../../common/source-maps-option.ts';
import { SOURCE_OPTIONS, type SourceName } from '../../common/source-options.ts';
import { UsageError } from '../../common/usage-error.ts';

type ScriptName =
  | InputName
  | SourceMapsName
  | ItraceName
  | 'fields'
  | 'ns'
  | 'hide-call-graph'
  | 'reltime'
  | 'deltatime'
  | 'max-stack'
  | 'symbols'
  | 'per-event-dump'
  | 'header'
  | 'header-only'
  | 'limit'
  | 'json'
  | 'dump-raw-trace'
  | RecordLinesName
  | SourceName
  | 'insn-trace'
  | 'call-trace'
  | 'call-ret-trace';

export default defineVerb<ScriptName>({
  name: 'script',
  summary: 'print every sample of a recording',
  usage: ['[options]', '[options] FILE'],
  options: [
    ...INPUT_OPTIONS,
    {
      long: 'symbols',
      short: 'S',
      value: 'NAME,...',
      help: 'only samples in these functions, whoever called them; for JavaScript the name alone is enough',
      repeat: true,
      group: 'Filter',
    },
    {
      long: 'fields',
      short: 'F',
      value: 'FIELDS',
      help: 'what to print, separated by commas: comm, pid, tid, cpu, time, period, event, flags, callindent, trace, synth, addr, weight, ip, sym, symoff, dso, srcline, iregs, uregs, brstack, brstacksym, brstackoff, brstackinsn, brstackinsnlen, phys_addr, data_page_size, code_page_size, insn, insnlen, ipc; `+addr` adds a field, `-dso` removes one',
      group: 'Output',
    },
    { long: 'ns', help: 'print times with nine digits', group: 'Output' },
    {
      long: 'limit',
      value: 'N',
      help: 'print only the first N samples, and read no further',
      group: 'Output',
    },
    { long: 'reltime', help: 'print times since the first line', group: 'Output' },
    { long: 'deltatime', help: 'print times since the line before', group: 'Output' },
    {
      long: 'max-stack',
      value: 'N',
      help: 'print only the innermost N frames of a call chain',
      group: 'Output',
    },
    {
      long: 'per-event-dump',
      help: 'write the samples of each event into a file beside the recording, such as perf.data.cycles.dump, in place of printing them',
      group: 'Output',
    },
    {
      long: 'header',
      help: 'print what the header says of the recorded machine before the samples',
      group: 'Output',
    },
    {
      long: 'header-only',
      help: 'print only what the header says of the recorded machine',
      group: 'Output',
    },
    { long: 'hide-call-graph', short: 'G', help: 'print no call chains', group: 'Output' },
    {
      long: 'json',
      help: 'print one JSON object a line (NDJSON), with all fields of the sample unless -F chooses',
      group: 'Output',
    },
    {
      long: 'dump-raw-trace',
      short: 'D',
      help: 'print every record: its place, its bytes, and what it says',
      group: 'Output',
    },
    { ...SOURCE_MAPS_OPTION, group: 'Output' },
    ...RECORD_LINES_OPTIONS,
    ...SOURCE_OPTIONS,
    ITRACE_OPTION,
    {
      long: 'insn-trace',
      help: "print every instruction of a hardware trace, with its bytes (perf's --itrace=i0ns -F+insn,-event,-period --ns)",
      group: 'Hardware trace',
    },
    {
      long: 'call-trace',
      help: 'print the calls of a hardware trace, indented by their depth',
      group: 'Hardware trace',
    },
    {
      long: 'call-ret-trace',
      help: 'print the calls and returns of a hardware trace, indented',
      group: 'Hardware trace',
    },
  ],
  examples: [
    ['script --itrace=i1000i', 'every thousandth instruction of a hardware trace'],
    ['script --call-trace', 'the calls of a hardware trace, indented by their depth'],
    ['script', "every sample in perf's form"],
    ['script -G --ns -F comm,tid,time,event,ip,sym', 'chosen fields, one line a sample'],
    ['script --json --limit 1 | jq', 'the first sample as JSON'],
    ['script --limit 20', 'the first twenty samples'],
    ['script --time 10.5,11 --comms node', 'half a second of one command'],
  ],
  async run({ args, out, err }) {
    const { parseFields } = await import('@counterpoint/core/query');
    const { ProgressLine } = await import('../../common/progress.ts');
    const { lossLines } = await import('../../common/loss-text.ts');
    const { TraceLog } = await import('../../common/trace-log.ts');
    const { reportHeader, writeHeader } = await import('./header.ts');
    const { EventDumps, writtenText } = await import('./event-dumps.ts');
    const { splitNames } = await import('./function-names.ts');
    const fields = args.string('fields');
    const view = traceView(args);
    const choice = fields === undefined ? view.choice(parseFields) : parseFields(fields);
    const limit = args.number('limit', { min: 1 });
    const itrace = await itraceOptions(args, 'script', view.itrace);
    const times = timesOf(args);
    const maxStack = args.number('max-stack', { min: 1 });
    const functions = new Set(args.all('symbols').flatMap(splitNames));
    if (args.has('symbols') && functions.size === 0) throw args.refuse('symbols', 'names of functions');
    await using recording = await openInput(args, view.itrace !== undefined || keepsStream(args));
    if (args.boolean('dump-raw-trace')) {
      refuseOthers(args, '--dump-raw-trace', [
        ...FILTERS,
        'symbols',
        'fields',
        'limit',
        'json',
        'per-event-dump',
      ]);
      const { dumpRecording } = await import('../../common/raw-dump.ts');
      return await dumpRecording(inputName(args), recording, { out, err });
    }
    if (args.boolean('header-only')) return await reportHeader({ args, out, err }, recording);
    if (args.boolean('header') && !recording.isStream)
      writeHeader(await recording.reader(), recording.name, out);
    const filter = await sampleFilter(args, recording);
    using log = new TraceLog(itrace, out, err);
    const isDumped = args.boolean('per-event-dump');
    await using dumps = isDumped ? new EventDumps(inputName(args)) : null;
    // On a terminal the lines themselves are the progress.
    const progress = out.isTerminal && !isDumped ? null : new ProgressLine(err);
    const result = await recording.script(
      {
        fields: choice,
        nanoseconds: args.boolean('ns') || view.itrace !== undefined,
        dsoWidth: view.dsoWidth,
        ...(itrace === null ? {} : { itrace }),
        ...log.options,
        ...sourceMapsOf(args),
        ...(args.has('inline') ? { inlined: args.boolean('inline') } : {}),
        fullPaths: args.boolean('full-source-path'),
        times,
        records: recordKinds(args),
        ...optional({ maxStack }),
        callChains: !args.boolean('hide-call-graph'),
        json: args.boolean('json'),
        ...optional({ limit, filter }),
        ...(functions.size === 0 ? {} : { functions }),
        perEvent: isDumped,
        ...(progress === null ? {} : { onProgress: progress.listener() }),
      },
      // Records that are no samples are printed, as in perf.
      async (utf8, event) => {
        if (dumps === null || event === null) out.utf8(utf8);
        else await dumps.write(event, utf8);
      },
    );
    progress?.close();
    refuseCounts(args, recording);
    const { samples, isLimited, loss, damage } = result;
    const files = dumps?.files(result.samplesOf) ?? [];
    const written = isDumped ? { files } : {};
    if (args.boolean('json'))
      out.line(printableJson({ type: 'end', samples, isLimited, ...written, loss, damage }));
    else for (const file of files) out.line(writtenText(file));
    if (isLimited) {
      const note = `--limit: the recording was not read beyond ${countOf(samples, 'sample')}`;
      err.line(err.style.yellow(`Note: ${note}; what was lost after that is not told`));
    }
    const filters = filterWords(args, [...FILTERS, 'symbols']);
    if (samples === 0 && filters !== '') err.line(err.style.yellow(`Nothing passes ${filters}.`));
    if (result.absentFields.length > 0) {
      err.line(err.style.yellow(absentText(result.absentFields)));
    }
    printDiagnostics(result.diagnostics, err, args.boolean('verbose'));
    for (const line of lossLines(loss, damage)) err.line(err.style.yellow(`Lost: ${line}`));
    return statusOfAnswer(args, result, err);
  },
});

function timesOf(args: ParsedArguments<ScriptName>): 'absolute' | 'relative' | 'differences' {
  const [relative, differences] = [args.boolean('reltime'), args.boolean('deltatime')];
  if (relative && differences) throw new UsageError('--reltime and --deltatime exclude each other');
  if ((relative || differences) && args.boolean('json'))
    throw new UsageError('JSON has the times that were recorded', 'Leave out --json or the other option.');
  return relative ? 'relative' : differences ? 'differences' : 'absolute';
}

/** What perf's three views of a trace stand for. */
const VIEWS = [
  { name: 'insn-trace', itrace: 'i0ns', fields: '+insn,-event,-period', dsoWidth: 0 },
  { name: 'call-trace', itrace: 'cewp', fields: '-ip,-addr,-event,-period,+callindent', dsoWidth: 50 },
  {
    name: 'call-ret-trace',
    itrace: 'crewp',
    fields: '-ip,-addr,-event,-period,+flags,+callindent',
    dsoWidth: 0,
  },
] as const;

function traceView(args: ParsedArguments<ScriptName>): {
  itrace: string | undefined;
  dsoWidth: number;
  choice: (parse: (fields: string) => FieldChoice) => FieldChoice | null;
} {
  const given = VIEWS.filter(({ name }) => args.boolean(name));
  const [view, other] = given;
  if (view === undefined) return { itrace: undefined, dsoWidth: 0, choice: () => null };
  if (other !== undefined)
    throw new UsageError(`--${view.name} and --${other.name} are two views: choose one`);
  return { itrace: view.itrace, dsoWidth: view.dsoWidth, choice: (parse) => parse(view.fields) };
}

/** Fields that say more of an address, and are printed behind it. */
const OF_ADDRESS: ReadonlySet<string> = new Set(['sym', 'symoff', 'dso', 'dsoff']);

function absentText(fields: readonly string[]): string {
  const names = fields.join(', ');
  if (fields.every((field) => OF_ADDRESS.has(field)))
    return `${names} is printed behind an address: ask for it, too, as in -F ip,${names.replaceAll(' ', '')}.`;
  return `The samples do not hold ${names}: it was not recorded.`;
}
