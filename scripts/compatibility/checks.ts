/** What the table has a row for, and when it is so. */
import { HOT_LINE, MAPPED_LINE } from './program.ts';
import type { SampledFunction } from './samples.ts';

/** What was recorded of the programs by one Node. */
export interface Recorded {
  everything: readonly SampledFunction[][];
  interpreted: readonly SampledFunction[][];
  /** Stacks as `export --js=categories` writes them. */
  folded: string;
  /** The functions that blocked longest, by `loop`. */
  blocking: readonly string[];
  /** Of `profile()`; only of a launched one. */
  ownFunctions: string;
  mappedSource: string;
}

export type Cell = 'yes' | 'partly' | 'no' | '';

interface Check {
  what: string;
  /** `profile()` is in the program itself. */
  isLaunchedOnly?: true;
  cell: (recorded: Recorded) => Cell;
}

const FEWEST_SAMPLES = 30;
const RIGHT = 0.9;
const SOME = 0.3;

type Stack = readonly SampledFunction[];

/** How many of the stacks that have `name` hold what is expected of them. */
function share(
  stacks: readonly Stack[],
  name: string,
  holds: (stack: Stack, hot: SampledFunction) => boolean,
): Cell {
  const own = stacks.filter((stack) => stack.some((one) => one.name === name));
  if (own.length < FEWEST_SAMPLES) return 'no';
  const right = own.filter((stack) => holds(stack, stack.find(isOfProgram) ?? stack[0]!)).length;
  return right >= RIGHT * own.length ? 'yes' : right >= SOME * own.length ? 'partly' : 'no';
}

const isOfProgram = ({ file }: SampledFunction) => file !== '' && !file.startsWith('node:');
const has = (found: boolean): Cell => (found ? 'yes' : 'no');
const countOf = (stacks: readonly Stack[], name: string) =>
  stacks.filter((stack) => stack.some((one) => one.name === name)).length;

export const CHECKS: readonly Check[] = [
  {
    what: 'names of compiled functions',
    cell: ({ everything }) => share(everything, 'fibCaller', (_, { name }) => name === 'fibHot'),
  },
  {
    what: 'names of interpreted functions',
    cell: ({ interpreted }) =>
      share(interpreted, 'interpretedCaller', (_, { name }) => name === 'interpretedHot'),
  },
  {
    what: 'inlined functions, two deep',
    cell: ({ everything }) =>
      share(
        everything,
        'deepCaller',
        (stack, { name }) => name === 'deepHot' && countOf([stack], 'deepMiddle') === 1,
      ),
  },
  {
    what: 'lines',
    cell: ({ everything }) => share(everything, 'lineCaller', (_, { line }) => line === HOT_LINE),
  },
  {
    what: 'source maps',
    cell: ({ everything, mappedSource }) =>
      share(
        everything,
        'mappedCaller',
        (_, { name, file, firstLine }) =>
          name === 'mappedHot' && file === mappedSource && firstLine === MAPPED_LINE,
      ),
  },
  { what: 'garbage collection', cell: ({ folded }) => has(/;allocates.*;\(GC: scavenge\) \d/.test(folded)) },
  {
    what: 'regular expressions',
    cell: ({ folded }) => has(folded.includes('(regexp /(x+x+)+y/)')),
  },
  {
    what: 'names of WebAssembly functions',
    cell: ({ everything }) => has(countOf(everything, 'wasmHot') >= FEWEST_SAMPLES),
  },
  {
    what: 'worker threads',
    cell: ({ everything }) => has(countOf(everything, 'workerHot') >= FEWEST_SAMPLES),
  },
  {
    what: 'child processes',
    cell: ({ everything }) => has(countOf(everything, 'childHot') >= FEWEST_SAMPLES),
  },
  { what: '`loop`: what blocks', cell: ({ blocking }) => has(blocking.includes('blocksLoop')) },
  {
    what: '`profile()` in the program',
    isLaunchedOnly: true,
    cell: ({ ownFunctions }) => has(/^\[\{[^}]*"symbol":"JS:profiledHot /.test(ownFunctions)),
  },
];
