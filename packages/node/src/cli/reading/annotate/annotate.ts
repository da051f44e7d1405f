import { defineVerb } from '../../common/args.ts';
import { ITRACE_OPTION, type ItraceName } from '../../common/itrace-option.ts';
import { INPUT_OPTIONS, type InputName } from '../../common/recording-input.ts';

export type AnnotateName =
  | InputName
  | ItraceName
  | 'symbol'
  | 'dsos'
  | 'event'
  | 'limit'
  | 'percent-type'
  | 'show-nr-samples'
  | 'source'
  | 'print-line'
  | 'full-paths'
  | 'asm-raw'
  | 'disassembler-style'
  | 'output'
  | 'json'
  | 'quiet'
  | 'stdio';

export default defineVerb<AnnotateName>({
  name: 'annotate',
  summary: 'show which instructions and lines of a function the samples fell on',
  usage: ['[options]', '[options] SYMBOL'],
  options: [
    ...INPUT_OPTIONS,
    {
      long: 'symbol',
      short: 's',
      value: 'NAME',
      help: 'this function; its name without parameters is enough (default: the hottest ones)',
      group: 'Filter',
    },
    {
      long: 'dsos',
      short: 'd',
      value: 'NAME,...',
      help: 'only functions of these binaries',
      group: 'Filter',
    },
    { long: 'event', value: 'NAME', help: 'only this event', group: 'Filter' },
    {
      long: 'limit',
      value: 'N',
      help: 'without a name: only the first N functions of each event (default 5)',
      group: 'Filter',
    },
    {
      long: 'percent-type',
      value: 'TYPE',
      help: 'shares of the function (local) or of everything (global), by what was counted (period) or by samples (hits): local-period (default), local-hits, global-period, global-hits',
      group: 'Rows',
    },
    { long: 'show-nr-samples', short: 'n', help: 'add a column with the number of samples', group: 'Rows' },
    {
      long: 'source',
      negatable: true,
      help: 'show lines of source code (default; --no-source: instructions only)',
      group: 'Rows',
    },
    {
      long: 'print-line',
      short: 'l',
      help: 'list the hottest lines first, and name the file of each line',
      group: 'Rows',
    },
    {
      long: 'full-paths',
      short: 'P',
      help: 'print whole paths of source files in place of their names',
      group: 'Rows',
    },
    { long: 'asm-raw', help: 'print the bytes of each instruction', group: 'Rows' },
    {
      long: 'disassembler-style',
      short: 'M',
      value: 'att|intel',
      help: 'how instructions of x86 are written (default att)',
      group: 'Rows',
    },
    ITRACE_OPTION,
    {
      long: 'output',
      short: 'o',
      value: 'FILE.html',
      help: 'write a page for browsers; `-` for standard output',
      group: 'Output',
    },
    { long: 'json', help: 'the answer as JSON', group: 'Output' },
    { long: 'quiet', short: 'q', help: 'print no notes', group: 'Output' },
    { long: 'stdio', help: 'accepted for perf: output is always plain text', group: 'Output' },
  ],
  examples: [
    ['annotate', 'the hottest functions, instruction by instruction'],
    ['annotate -i perf.data compute', 'one function'],
    ['annotate -l --no-source compute', 'its hottest lines, then instructions only'],
    ['annotate -d libc.so.6 -o hot.html', 'the hottest functions of a library, as a page for browsers'],
    ['annotate --json compute | jq .functions[0].lines', 'shares by line, as JSON'],
    ['annotate --itrace compute', 'with a hardware trace: how often each instruction was executed'],
  ],
  async run(context) {
    const { runAnnotate } = await import('./run.ts');
    return await runAnnotate(context);
  },
});
