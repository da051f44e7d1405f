import { printable } from '@counterpoint/core/base';
import type { Profile } from '@counterpoint/core/profile';
import {
  type ChangedFunction,
  type CompareAnswer,
  compareFunctions,
  javascriptTime,
  viewJavascript,
} from '@counterpoint/core/query';
import { openRecording } from '../../open/index.ts';
import { EXIT_OK, type VerbContext } from '../common/args.ts';
import { countOf, formatDuration, percentText } from '../common/human.ts';
import type { Output } from '../common/output.ts';
import { ProgressLine } from '../common/progress.ts';
import { UsageError } from '../common/usage-error.ts';
import type { DiffName } from './diff.ts';

type Context = VerbContext<DiffName>;

/** A function grew by more than `--fail-over` allows. */
const EXIT_GREW = 4;

export async function runDiff(context: Context): Promise<number> {
  const { args, out, err } = context;
  const [beforePath, afterPath, ...more] = args.words;
  if (beforePath === undefined || afterPath === undefined || more.length > 0)
    throw new UsageError(
      `two recordings are compared, not ${args.words.length}`,
      'Give the earlier one first.',
    );
  const limitPoints = pointsOf(args);
  const before = await readProfile(context, beforePath);
  const after = await readProfile(context, afterPath);
  showJavascript(args, before, after);
  const event = args.string('event');
  const answer = compareFunctions(before, after, {
    children: args.boolean('children'),
    ...(event === undefined ? {} : { event }),
  });
  const grown = limitPoints === undefined ? [] : answer.rows.filter(({ low }) => low > limitPoints);
  if (args.boolean('json')) out.json({ ...answer, ...(limitPoints === undefined ? {} : { grown }) });
  else print(answer, args, { beforePath, afterPath }, out);
  out.flush();
  for (const [path, { loss, damage }] of [
    [beforePath, before],
    [afterPath, after],
  ] as const)
    if (loss.length + damage.length > 0)
      err.line(err.style.yellow(`Note: ${printable(path)} lacks something; report --stats shows what.`));
  if (grown.length === 0) return EXIT_OK;
  const names = grown.slice(0, 3).map((row) => `${printable(nameOf(row))} by ${points(row.change)}`);
  err.line(
    err.style.red(
      `counterpoint diff: ${countOf(grown.length, 'function')} grew by more than ${limitPoints} points: ${names.join(', ')}`,
    ),
  );
  return EXIT_GREW;
}

/** `5` or `5%`, as people write it. */
function pointsOf(args: Context['args']): number | undefined {
  const text = args.string('fail-over');
  if (text === undefined) return undefined;
  const value = Number(text.replace(/%$/, '').trim() || Number.NaN);
  if (!(value >= 0 && value <= 100))
    throw args.refuse('fail-over', 'a number of percentage points such as 5%');
  return value;
}

async function readProfile({ args, err }: Context, path: string): Promise<Profile> {
  const symfs = args.string('symfs');
  await using recording = await openRecording(path, symfs === undefined ? {} : { symfs });
  using progress = new ProgressLine(err);
  return (await recording.profile({ aggregate: true, onProgress: progress.listener() })).profile;
}

/** Both in the same way, or neither. */
function showJavascript(args: Context['args'], ...profiles: readonly Profile[]): void {
  if (!args.boolean('js', true)) return;
  const hasChains = ({ stacks }: Profile) => stacks.prefix.view().some((prefix) => prefix >= 0);
  if (!profiles.every((profile) => javascriptTime(profile) !== null && hasChains(profile))) return;
  for (const profile of profiles) viewJavascript(profile, 'charge');
}

function print(
  answer: CompareAnswer,
  args: Context['args'],
  { beforePath, afterPath }: { beforePath: string; afterPath: string },
  out: Output,
): void {
  for (const [title, path, side] of [
    ['Before', beforePath, answer.before],
    ['After ', afterPath, answer.after],
  ] as const) {
    const time = answer.unit === 'nanoseconds' ? `, ${formatDuration(Number(side.sumPeriod))}` : '';
    out.line(
      `# ${title}: ${printable(path)}, ${countOf(side.samples, 'sample')} of ${printable(answer.event)}${time}`,
    );
  }
  const certain = answer.rows.filter(({ isBeyondNoise }) => isBeyondNoise);
  const shown = args.boolean('all') ? answer.rows : certain;
  const rows = shown.slice(0, args.number('limit', { min: 1 }, Number.POSITIVE_INFINITY));
  out.line('# Changes are percentage points; the range holds for all functions together with 95 %');
  out.line('#');
  if (rows.length > 0) {
    out.line('#  Before     After    Change  Range              Function');
    out.line('# .......  ........  ........  .................  ........................................');
  }
  for (const row of rows) out.line(colour(row, rowText(row), out));
  const hidden = shown.length - rows.length;
  if (hidden > 0) out.line(`# ${countOf(hidden, 'row')} more: --limit`);
  const noise = answer.rows.length - certain.length;
  if (noise > 0 && !args.boolean('all'))
    out.line(
      `# ${countOf(noise, 'function')} changed no more than chance explains${certain.length === 0 ? '' : ', too'} (--all shows them)`,
    );
}

function rowText(row: ChangedFunction): string {
  const range = `${points(row.low)} to ${points(row.high)}`;
  const mark = row.isBeyondNoise ? '' : '  (noise)';
  return `${percentText(row.before).padStart(9)}  ${percentText(row.after).padStart(8)}  ${points(row.change).padStart(8)}  ${range.padEnd(17)}  ${printable(nameOf(row))}${mark}`;
}

function nameOf({ symbol, dso }: ChangedFunction): string {
  const name = symbol.replace(/^(?:JS|Wasm):/, '');
  return dso === '' || dso.startsWith('[JavaScript') ? name : `${name} (${dso})`;
}

function points(value: number): string {
  return `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(2)}`;
}

function colour(row: ChangedFunction, text: string, out: Output): string {
  if (!row.isBeyondNoise) return text;
  return row.change > 0 ? out.style.red(text) : out.style.green(text);
}
