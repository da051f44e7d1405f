import { printableJson } from '@counterpoint/core/base';
import { defineVerb, EXIT_LOSS, EXIT_OK } from '../../common/args.ts';
import { countOf, formatBytes } from '../../common/human.ts';
import { lossLines } from '../../common/loss-text.ts';
import { UsageError } from '../../common/usage-error.ts';

type ConvertName = 'input' | 'output' | 'fail-on-loss' | 'json' | 'quiet';

const PERF_DATA = 'perf.data';

export default defineVerb<ConvertName>({
  name: 'convert',
  summary: 'turn a recording into a history of fixed-size records, or back',
  usage: ['[options] -o FILE', '[options] INPUT -o FILE'],
  options: [
    {
      long: 'input',
      short: 'i',
      value: 'FILE',
      help: `a recording (also a directory of perf record --threads), or a history (default ${PERF_DATA})`,
      group: 'Files',
    },
    { long: 'output', short: 'o', value: 'FILE', help: 'where to write', group: 'Files' },
    { long: 'fail-on-loss', help: 'exit with 3 if anything of the input was lost', group: 'General' },
    { long: 'json', help: 'print what was written, as JSON, on standard output', group: 'General' },
    { long: 'quiet', short: 'q', help: 'print errors only', group: 'General' },
  ],
  examples: [
    ['convert perf.data -o perf.history', 'every sample in a slot of one size, in order of time'],
    ['convert perf.history -o perf.data', 'and back, for perf and everything else'],
  ],
  async run({ args, out, err }) {
    const [word, ...rest] = args.words;
    if (rest.length > 0) throw new UsageError('one input at a time', 'Name one file.');
    if (word !== undefined && args.has('input'))
      throw new UsageError('two inputs are named', 'Leave out -i, or the word.');
    const input = word ?? args.string('input', PERF_DATA);
    const output = args.string('output');
    if (output === undefined) throw new UsageError('there is no output', 'Name it: -o FILE.');
    if (output === '-' || input === '-')
      throw new UsageError('a history is read and written as a file', 'Name files for both.');
    const [{ convertRecording }, { ProgressLine }] = await Promise.all([
      import('../../../host/history-files/index.ts'),
      import('../../common/progress.ts'),
    ]);
    using progress = new ProgressLine(err);
    const done = await convertRecording(input, output, { onProgress: progress.listener() });
    progress.close();
    const { kind, records, bytes, loss, damage } = done;
    if (args.boolean('json')) out.line(printableJson({ type: 'convert', version: 1, path: output, ...done }));
    if (!args.boolean('quiet'))
      err.line(
        `Wrote ${output} (${kind === 'history' ? 'a history' : kind}, ${countOf(records, 'sample')}, ${formatBytes(bytes)}).`,
      );
    for (const line of lossLines(loss, damage)) err.line(err.style.yellow(`Lost: ${line}`));
    return args.boolean('fail-on-loss') && loss.length + damage.length > 0 ? EXIT_LOSS : EXIT_OK;
  },
});
