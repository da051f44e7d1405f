/** `pt record`: which source, and the line of `record` that this is short for. */
import { printable } from '@counterpoint/core/base';
import { checkIntelPt } from '../../../linux/kernel/local-pmus/index.ts';
import { realFiles } from '../../../linux/kernel/probe/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import { parseArguments } from '../../common/parse.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';
import recordVerb from '../record/record.ts';
import type { PtRecordName } from './pt-record.ts';

type Arguments = ParsedArguments<PtRecordName>;
type Source = 'intel_pt' | 'soft_pt';

const DEFAULT_MOST_BYTES = '1G';

/** Options of one source only, and what the other has in their place. */
const ONLY: Readonly<Record<Source, readonly (readonly [PtRecordName, string])[]>> = {
  intel_pt: [
    ['kernel', 'Stepping sees user space only: leave it out.'],
    ['filter', 'Trace the calls of a function: --on-function NAME.'],
    ['snapshot', 'All is kept: bound it by --max-size SIZE or --stop-after N.'],
    ['all-cpus', 'Give a command, a process (-p PID) or a thread (-t TID).'],
    ['cpu', 'Give a command, a process (-p PID) or a thread (-t TID).'],
  ],
  soft_pt: [
    ['on-function', "Let the processor look: --filter 'filter NAME @ FILE', or --source soft_pt."],
    ['stop-after', 'Bound the file: --max-size SIZE.'],
  ],
};

export async function runPtRecord({ args, out, err }: VerbContext<PtRecordName>): Promise<number> {
  const [source, why] = chooseSource(args);
  refuseOthers(args, source);
  const words = recordWords(args, source);
  const line = `counterpoint record ${words.map(shellWord).join(' ')}`;
  if (args.boolean('plan')) {
    out.line(`${source}: ${why}`);
    out.line(line);
    return EXIT_OK;
  }
  if (!args.boolean('quiet')) err.line(`[ counterpoint pt record: by ${source}: ${why} ]`);
  if (args.boolean('verbose')) err.line(`[ counterpoint pt record: the same as ${line} ]`);
  return await recordVerb.run({ args: parseArguments(recordVerb, words), out, err });
}

function chooseSource(args: Arguments): [Source, why: string] {
  const wanted = args.choice('source', ['intel_pt', 'soft_pt']);
  const { state, why } = checkIntelPt(realFiles);
  const has = state === 'ok';
  if (wanted === 'soft_pt') return [wanted, 'it steps the program, as was asked'];
  if (wanted === 'intel_pt' && !has)
    throw new UsageError(
      `this machine has no Intel PT: ${why}`,
      'Leave out --source: soft_pt writes the same packets by stepping the program.',
    );
  return has
    ? ['intel_pt', 'the processor writes the trace']
    : ['soft_pt', `it steps the program, because there is no Intel PT (${why})`];
}

function refuseOthers(args: Arguments, source: Source): void {
  const other = source === 'intel_pt' ? 'soft_pt' : 'intel_pt';
  const found = ONLY[other].find(([name]) => args.has(name));
  if (found === undefined) return;
  const [name, remedy] = found;
  throw new UsageError(`--${name} is for ${other}, and this trace is made by ${source}`, remedy);
}

/** Values are in the words of their options, as they were typed. */
function recordWords(args: Arguments, source: Source): string[] {
  const words = ['-e', `${source}//${args.boolean('kernel') ? '' : 'u'}`];
  for (const value of args.all('filter')) words.push('--filter', value);
  const snapshot = args.string('snapshot');
  if (snapshot !== undefined) words.push('-m', `,${snapshot}`, `--snapshot=e${snapshot}`);
  words.push('--max-size', args.string('max-size') ?? DEFAULT_MOST_BYTES);
  for (const name of ['pid', 'tid', 'cpu', 'on-function', 'stop-after', 'output'] as const)
    for (const value of args.all(name)) words.push(`--${name}`, value);
  if (args.boolean('all-cpus')) words.push('--all-cpus');
  if (args.has('node-names')) words.push(args.boolean('node-names') ? '--node-names' : '--no-node-names');
  for (const name of ['quiet', 'verbose'] as const) if (args.boolean(name)) words.push(`--${name}`);
  return args.words.length === 0 ? words : [...words, '--', ...args.words];
}

/** As a shell takes it for one word. */
function shellWord(word: string): string {
  const shown = printable(word);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
