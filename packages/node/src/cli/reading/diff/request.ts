import { existsSync } from 'node:fs';
import { type CompareOptions, parseSortKeys, type SortKey } from '@counterpoint/core/query';
import type { VerbContext } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { DiffName } from './diff.ts';

type Arguments = VerbContext<DiffName>['args'];
type Method = NonNullable<CompareOptions['method']>;

/** What is asked for, looked at before anything is read. */
export interface DiffRequest {
  /** The recordings of each side, before first. */
  sides: readonly (readonly string[])[];
  method: Method;
  weights: readonly [number, number];
  sort: readonly SortKey[];
  /** Rows by source files or lines need debug information. */
  hasSources: boolean;
  /** Points, or with `ratio` percent of before. */
  failOver: number | undefined;
  output: string | null;
}

const METHODS: readonly Method[] = ['delta', 'delta-abs', 'ratio', 'wdiff'];

/** Words of people for keys of report. */
const SORT_WORDS: Readonly<Record<string, string>> = {
  function: 'symbol',
  file: 'srcfile',
  line: 'srcline',
  binary: 'dso',
};

export function diffRequest(args: Arguments): DiffRequest {
  const sides = args.words.map(recordingsOf);
  if (sides.length < 2)
    throw new UsageError(
      `two or more recordings are compared, not ${sides.length}`,
      sides.some((paths) => paths.length > 1)
        ? 'Separate the sides by a blank, and recordings of one side by commas.'
        : 'Give the earliest one first: the others are compared with it.',
    );
  const { method, weights } = methodOf(args);
  const sort = sortOf(args);
  const output = args.string('output') ?? null;
  if (output !== null && (sides.length > 2 || sides.some((paths) => paths.length > 1)))
    throw new UsageError('--output shows two recordings', 'Leave the others out.');
  if (output !== null && args.boolean('json')) throw new UsageError('--json does not go with --output');
  if (output !== null && output !== '-' && !output.endsWith('.svg'))
    throw args.refuse('output', 'a file that ends in .svg');
  return {
    sides,
    method,
    weights,
    sort,
    hasSources: sort.includes('srcfile') || sort.includes('srcline'),
    failOver: failOverOf(args, method),
    output,
  };
}

/** `a1.data,a2.data`: recordings of the same. A file may have commas in its name. */
function recordingsOf(word: string): readonly string[] {
  if (!word.includes(',') || existsSync(word)) return [word];
  const paths = word.split(',');
  if (paths.includes(''))
    throw new UsageError(
      `"${word}" has a comma without a recording`,
      'Separate the recordings of a side by commas, without blanks: a1.data,a2.data,a3.data',
    );
  return paths;
}

function methodOf(args: Arguments): Pick<DiffRequest, 'method' | 'weights'> {
  const name = args.has('compute') ? 'compute' : 'compare';
  const text = args.string(name) ?? 'delta-abs';
  const [word, numbers, ...more] = text.split(':');
  const method = METHODS.find((one) => one === word);
  const expected = `${METHODS.slice(0, 3).join(', ')} or wdiff:BEFORE,AFTER such as wdiff:1,2`;
  if (method === undefined || more.length > 0) throw args.refuse(name, expected);
  if (numbers === undefined) return { method, weights: [1, 1] };
  const weights = numbers.split(',').map((number) => (number.trim() === '' ? Number.NaN : Number(number)));
  const [before, after] = weights;
  if (method !== 'wdiff' || weights.length !== 2 || !weights.every((weight) => Number.isFinite(weight)))
    throw args.refuse(name, expected);
  return { method, weights: [before!, after!] };
}

function sortOf(args: Arguments): readonly SortKey[] {
  const text = args.string('sort');
  if (text === undefined) return ['dso', 'symbol'];
  const words = text.split(',').map((word) => SORT_WORDS[word.trim()] ?? word.trim());
  const keys = parseSortKeys(words.join(','));
  const known: readonly SortKey[] = [
    'dso',
    'symbol',
    'srcfile',
    'srcline',
    'comm',
    'pid',
    'thread',
    'tid',
    'cpu',
  ];
  const other = keys.find((key) => !known.includes(key));
  if (other !== undefined)
    throw args.refuse('sort', 'function, file, line, binary, comm, pid, tid or cpu', `Not by ${other}.`);
  return keys;
}

/** `5` or `5%`, as people write it. */
function failOverOf(args: Arguments, method: Method): number | undefined {
  const text = args.string('fail-over');
  if (text === undefined) return undefined;
  if (method === 'wdiff')
    throw new UsageError(
      '--fail-over does not go with wdiff',
      'It has a share in points (delta), or a cost in percent of before (ratio).',
    );
  const value = Number(text.replace(/%$/, '').trim() || Number.NaN);
  const most = method === 'ratio' ? Number.POSITIVE_INFINITY : 100;
  if (!(value >= 0 && value <= most))
    throw args.refuse('fail-over', `a number of percent${method === 'ratio' ? '' : 'age points'} such as 5%`);
  return value;
}
