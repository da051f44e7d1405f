import { printableJson } from '@counterpoint/core/base';
import { defineVerb } from './args.ts';
import {
  FILTERS,
  filterWords,
  INPUT_OPTIONS,
  type InputName,
  openInput,
  printDiagnostics,
  sampleFilter,
  statusForLoss,
} from './recording-input.ts';

type ScriptName = InputName | 'fields' | 'ns' | 'hide-call-graph' | 'json';

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
      help: 'what to print: comm,pid,tid,cpu,time,period,event,trace,addr,weight,ip,sym,symoff,dso,brstack,phys_addr; `+addr` adds, `-dso` takes away',
      group: 'Output',
    },
    { long: 'ns', help: 'times with nine digits', group: 'Output' },
    { long: 'hide-call-graph', short: 'G', help: 'no call chains', group: 'Output' },
    {
      long: 'json',
      help: 'one JSON object a line (NDJSON), with all that the sample holds unless -F chooses',
      group: 'Output',
    },
  ],
  examples: [
    ['script', "every sample in perf's form"],
    ['script -G --ns -F comm,tid,time,event,ip,sym', 'chosen fields, one line a sample'],
    ['script --json | head -1 | jq', 'the first sample as JSON'],
    ['script --time 10.5,11 --comms node', 'half a second of one command'],
  ],
  async run({ args, out, err }) {
    const { parseFields } = await import('@counterpoint/core/query');
    const { ProgressLine } = await import('./progress.ts');
    const { lossLines } = await import('./loss-text.ts');
    const fields = args.string('fields');
    const choice = fields === undefined ? null : parseFields(fields);
    await using recording = await openInput(args);
    const filter = await sampleFilter(args, recording);
    // On a terminal the lines themselves are the progress.
    const progress = out.isTerminal ? null : new ProgressLine(err);
    const result = await recording.script(
      {
        fields: choice,
        nanoseconds: args.boolean('ns'),
        callChains: !args.boolean('hide-call-graph'),
        json: args.boolean('json'),
        ...(filter === undefined ? {} : { filter }),
        ...(progress === null ? {} : { onProgress: progress.listener() }),
      },
      (utf8) => out.bytes(utf8),
    );
    progress?.close();
    if (args.boolean('json')) {
      out.line(
        printableJson({ type: 'end', samples: result.samples, loss: result.loss, damage: result.damage }),
      );
    }
    const filters = filterWords(args, FILTERS);
    if (result.samples === 0 && filters !== '') err.line(err.style.yellow(`Nothing passes ${filters}.`));
    if (result.absentFields.length > 0) {
      err.line(
        err.style.yellow(`The samples do not hold ${result.absentFields.join(', ')}: it was not recorded.`),
      );
    }
    printDiagnostics(result.diagnostics, err, args.boolean('verbose'));
    for (const line of lossLines(result.loss, result.damage)) err.line(err.style.yellow(`Lost: ${line}`));
    return statusForLoss(args, result.loss);
  },
});
