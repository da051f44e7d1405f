import { basename } from 'node:path';
import { optional, printable } from '@counterpoint/core/base';
import type { Profile } from '@counterpoint/core/profile';
import {
  type ChangedFunction,
  type CompareAnswer,
  compareFunctions,
  javascriptTime,
  viewJavascript,
} from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import { countOf, formatBytes } from '../../common/human.ts';
import { foldingAsked } from '../../common/javascript-fold.ts';
import { ProgressLine } from '../../common/progress.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { DiffName } from './diff.ts';
import { type DiffRequest, diffRequest } from './request.ts';
import { nameOf, points, printComparison, printComparisons } from './text.ts';

type Context = VerbContext<DiffName>;

/** A function grew by more than `--fail-over` allows. */
const EXIT_GREW = 4;

export async function runDiff(context: Context): Promise<number> {
  const { args, out } = context;
  const request = diffRequest(args);
  const sides: Profile[][] = [];
  for (const paths of request.sides) {
    const side: Profile[] = [];
    for (const path of paths) side.push(await readProfile(context, path, request));
    sides.push(side);
  }
  showJavascript(context, request, sides.flat());
  const event = args.string('event');
  const [before, ...later] = sides as [Profile[], ...Profile[][]];
  const answers = later.map((after) =>
    compareFunctions(before, after, {
      children: args.boolean('children'),
      sort: request.sort,
      method: request.method,
      weights: request.weights,
      comparisons: later.length,
      ...optional({ event }),
    }),
  );
  const grown = answers.flatMap((answer) => grownRows(answer, request));
  if (request.output !== null)
    await writeFlameGraph(context, request, [before[0]!, later[0]![0]!], answers[0]!);
  else if (args.boolean('json')) out.json(jsonOf(answers, args.words, request, grown));
  else {
    const limit = args.number('limit', { min: 1 }, Number.POSITIVE_INFINITY);
    const options = { sides: request.sides, all: args.boolean('all'), limit };
    if (answers.length === 1) printComparison(answers[0]!, options, out);
    else printComparisons(answers, options, out);
  }
  out.flush();
  sayLosses(context, request, sides.flat());
  return grown.length === 0 ? EXIT_OK : sayGrown(context, request, grown);
}

/** Both recordings in one picture. */
async function writeFlameGraph(
  { out, err }: Context,
  { sides, output }: DiffRequest,
  [before, after]: readonly [Profile, Profile],
  { event }: CompareAnswer,
): Promise<void> {
  const { exportFormat, writeExport } = await import('../../common/export-file.ts');
  const options = {
    before,
    event: after.events.findIndex(({ name }) => name === event),
    title: sides.map(([path]) => basename(path!)).join(' → '),
  };
  const bytes = await writeExport(after, await exportFormat('svg'), output!, options, out);
  if (bytes !== null) err.line(`Wrote ${printable(output!)}: ${formatBytes(bytes)}.`);
}

interface Grown {
  row: ChangedFunction;
  answer: CompareAnswer;
}

/** Rows that certainly grew by more than is allowed. */
function grownRows(answer: CompareAnswer, { failOver, method }: DiffRequest): Grown[] {
  if (failOver === undefined) return [];
  const least = method === 'ratio' ? 1 + failOver / 100 : failOver;
  return answer.rows.filter(({ low }) => low > least).map((row) => ({ row, answer }));
}

function jsonOf(
  answers: readonly CompareAnswer[],
  words: readonly string[],
  { failOver }: DiffRequest,
  grown: readonly Grown[],
): unknown {
  const told = failOver === undefined ? {} : { grown: grown.map(({ row }) => row) };
  if (answers.length === 1) return { ...answers[0], ...told };
  return { type: 'compared-recordings', version: 1, recordings: words, comparisons: answers, ...told };
}

function sayLosses({ err }: Context, { sides }: DiffRequest, profiles: readonly Profile[]): void {
  const paths = sides.flat();
  for (const [place, { loss, damage }] of profiles.entries())
    if (loss.length + damage.length > 0)
      err.line(
        err.style.yellow(`Note: ${printable(paths[place]!)} lacks something; report --stats shows what.`),
      );
}

function sayGrown(
  { err }: Context,
  { failOver, method, sort }: DiffRequest,
  grown: readonly Grown[],
): number {
  const isRatio = method === 'ratio';
  const names = grown.slice(0, 3).map(({ row, answer }) => {
    const by = isRatio ? ratioText(row.change) : points(row.change ?? 0);
    return `${printable(nameOf(row, answer))} by ${by}`;
  });
  const what = sort.join() === 'dso,symbol' ? 'function' : 'row';
  const allowed = isRatio ? `${failOver} % of before` : `${failOver} points`;
  err.line(
    err.style.red(
      `counterpoint diff: ${countOf(grown.length, what)} grew by more than ${allowed}: ${names.join(', ')}`,
    ),
  );
  return EXIT_GREW;
}

function ratioText(change: number | null): string {
  return change === null ? 'being new' : `${(100 * (change - 1)).toFixed(1)} %`;
}

async function readProfile({ args, err }: Context, path: string, request: DiffRequest): Promise<Profile> {
  const symfs = args.string('symfs');
  await using recording = await openRecording(path, optional({ symfs }));
  using progress = new ProgressLine(err);
  const { profile } = await recording.profile({
    aggregate: true,
    debugInfo: request.hasSources ? 'lines' : undefined,
    onProgress: progress.listener(),
  });
  return profile;
}

/** All in the same way, or none. Who asks for other rows than functions asks for what was recorded. */
function showJavascript({ args, err }: Context, { sort }: DiffRequest, profiles: readonly Profile[]): void {
  if (args.has('js') && !args.boolean('js') && args.list('fold').length > 0)
    throw new UsageError('--no-js shows every function: --fold does not go with it');
  if (!args.boolean('js', sort.includes('symbol') || args.list('fold').length > 0)) return;
  const hasChains = ({ stacks }: Profile) => stacks.prefix.view().some((prefix) => prefix >= 0);
  if (!profiles.every((profile) => javascriptTime(profile) !== null && hasChains(profile))) return;
  const isFolded = foldingAsked(args, ['node'], profiles, err);
  for (const profile of profiles) viewJavascript(profile, 'charge', isFolded);
}
