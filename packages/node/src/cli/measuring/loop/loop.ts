import { defineVerb } from '../../common/args.ts';
import { nodeNamesOption } from '../shared/sampling-options.ts';
import { type TargetName, targetOptions } from '../shared/target-options.ts';

export type LoopName =
  | 'pid'
  | 'node-names'
  | 'freq'
  | 'input'
  | 'record'
  | 'symfs'
  | 'slow'
  | 'limit'
  | 'json'
  | 'output'
  | 'fail-on-loss'
  | 'fail-over'
  | 'quiet';

const TARGET = 'Target';
const ANSWER = 'Answer';

export default defineVerb<LoopName>({
  name: 'loop',
  summary: 'show the turns of the event loop, and what blocked it',
  usage: ['[options] [--] COMMAND [ARGUMENTS]', '[options] -p PID [[--] COMMAND]', '[options] -i FILE'],
  command: true,
  options: [
    ...targetOptions(TARGET).filter(isOurs),
    nodeNamesOption(TARGET),
    {
      long: 'freq',
      short: 'F',
      value: 'HZ',
      help: 'samples of each thread per second of its CPU time (default 999)',
      group: TARGET,
    },
    {
      long: 'record',
      value: 'FILE',
      help: 'keep the recording, for loop -i, report and export',
      group: TARGET,
    },
    {
      long: 'input',
      short: 'i',
      value: 'FILE',
      help: 'watch nothing, and answer from a recording made with record --loop or loop --record',
      group: TARGET,
    },
    {
      long: 'symfs',
      value: 'DIR',
      help: "with -i: look for the recorded programs under DIR, a copy of that machine's files",
      group: TARGET,
    },
    {
      long: 'slow',
      value: 'TIME',
      help: 'turns of at least this length are slow (default 20ms)',
      group: ANSWER,
    },
    { long: 'limit', short: 'n', value: 'N', help: 'turns of each list (default 10)', group: ANSWER },
    { long: 'json', help: 'the answer as JSON', group: ANSWER },
    {
      long: 'output',
      short: 'o',
      value: 'FILE.svg',
      help: 'also draw the turns over time into this file (SVG); `-` for standard output, without the text',
      group: ANSWER,
    },
    {
      long: 'fail-over',
      value: 'TIME',
      help: 'for CI: exit with 4 if a turn took longer than this and the command gave 0',
      group: 'General',
    },
    {
      long: 'fail-on-loss',
      help: 'exit with 3 if something was lost and the command gave 0',
      group: 'General',
    },
    { long: 'quiet', short: 'q', help: 'print the answer and errors only', group: 'General' },
  ],
  examples: [
    ['loop -- node app.js', 'which turns were long, and which functions blocked them'],
    ['loop -p 1234 -- sleep 10', 'a running service, for ten seconds'],
    ['loop -o loop.svg -- node app.js', 'a picture of the turns over time, too'],
    ['loop --json -- node app.js | jq .loops[0].longest[0]', 'as JSON: the longest turn'],
    ['loop --fail-over 100ms -- node test.js', 'in CI: status 4 if the loop was blocked for longer'],
  ],
  async run(context) {
    const { runLoop } = await import('./run.ts');
    return await runLoop(context);
  },
});

function isOurs<Row extends { long: TargetName }>(row: Row): row is Row & { long: 'pid' } {
  return row.long === 'pid';
}
