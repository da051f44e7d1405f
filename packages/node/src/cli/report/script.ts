import { printableJson } from '@counterpoint/core/base';
import type { FieldChoice } from '@counterpoint/core/query';
import { defineVerb } from '../common/args.ts';
import { ITRACE_OPTION, type ItraceName, itraceOptions, keepsStream } from '../common/itrace-option.ts';
import type { ParsedArguments } from '../common/parsed-arguments.ts';
import {
  FILTERS,
  filterWords,
  INPUT_OPTIONS,
  type InputName,
  openInput,
  printDiagnostics,
  refuseCounts,
  sampleFilter,
  statusOfAnswer,
} from '../common/recording-input.ts';
import { UsageError } from '../common/usage-error.ts';

type ScriptName =
  | InputName
  | ItraceName
  | 'fields'
  | 'ns'
  | 'hide-call-graph'
  | 'json'
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
      long: 'fields',
      short: 'F',
      value: 'FIELDS',
      help: 'what to print, separated by commas: comm, pid, tid, cpu, time, period, event, flags, callindent, trace, synth, addr, weight, ip, sym, symoff, dso, brstack, phys_addr, insn, insnlen, ipc; `+addr` adds a field, `-dso` removes one',
      group: 'Output',
    },
    { long: 'ns', help: 'print times with nine digits', group: 'Output' },
    { long: 'hide-call-graph', short: 'G', help: 'print no call chains', group: 'Output' },
    {
      long: 'json',
      help: 'print one JSON object a line (NDJSON), with all fields of the sample unless -F chooses',
      group: 'Output',
    },
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
    ['script --json | head -1 | jq', 'the first sample as JSON'],
    ['script --time 10.5,11 --comms node', 'half a second of one command'],
  ],
  async run({ args, out, err }) {
    const { parseFields } = await import('@counterpoint/core/query');
    const { ProgressLine } = await import('../common/progress.ts');
    const { lossLines } = await import('../common/loss-text.ts');
    const { TraceLog } = await import('../common/trace-log.ts');
    const fields = args.string('fields');
    const view = traceView(args);
    const choice = fields === undefined ? view.choice(parseFields) : parseFields(fields);
    const itrace = await itraceOptions(args, 'script', view.itrace);
    await using recording = await openInput(args, view.itrace !== undefined || keepsStream(args));
    const filter = await sampleFilter(args, recording);
    using log = new TraceLog(itrace, out, err);
    // On a terminal the lines themselves are the progress.
    const progress = out.isTerminal ? null : new ProgressLine(err);
    const result = await recording.script(
      {
        fields: choice,
        nanoseconds: args.boolean('ns') || view.itrace !== undefined,
        dsoWidth: view.dsoWidth,
        ...(itrace === null ? {} : { itrace }),
        ...log.options,
        callChains: !args.boolean('hide-call-graph'),
        json: args.boolean('json'),
        ...(filter === undefined ? {} : { filter }),
        ...(progress === null ? {} : { onProgress: progress.listener() }),
      },
      (utf8) => out.utf8(utf8),
    );
    progress?.close();
    refuseCounts(args, recording);
    if (args.boolean('json')) {
      out.line(
        printableJson({ type: 'end', samples: result.samples, loss: result.loss, damage: result.damage }),
      );
    }
    const filters = filterWords(args, FILTERS);
    if (result.samples === 0 && filters !== '') err.line(err.style.yellow(`Nothing passes ${filters}.`));
    if (result.absentFields.length > 0) {
      err.line(err.style.yellow(absentText(result.absentFields)));
    }
    printDiagnostics(result.diagnostics, err, args.boolean('verbose'));
    for (const line of lossLines(result.loss, result.damage)) err.line(err.style.yellow(`Lost: ${line}`));
    return statusOfAnswer(args, result, err);
  },
});

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
