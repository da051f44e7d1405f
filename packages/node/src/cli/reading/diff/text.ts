import { printable } from '@counterpoint/core/base';
import type { ChangedFunction, CompareAnswer } from '@counterpoint/core/query';
import { countOf, formatDuration, percentText } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';

export interface TextOptions {
  /** The recordings of each side. */
  readonly sides: readonly (readonly string[])[];
  /** Also rows whose change is noise. */
  readonly all: boolean;
  readonly limit: number;
}

const WORDS = {
  delta: 'Changes are percentage points',
  'delta-abs': 'Changes are percentage points',
  ratio: 'Changes are what was counted, as a multiple of before',
  wdiff: 'Changes are what was counted, weighted, less that of before',
} as const;

/** Before and after: each row with its shares and its range. */
export function printComparison(answer: CompareAnswer, options: TextOptions, out: Output): void {
  printHead([answer], options, out);
  const certain = answer.rows.filter(({ isBeyondNoise }) => isBeyondNoise);
  const shown = options.all ? answer.rows : certain;
  const rows = shown.slice(0, options.limit);
  const title = titleOf(answer);
  if (rows.length > 0) {
    out.line(`#  Before     After  ${'Change'.padStart(10)}  Range                    ${title}`);
    out.line(`# .......  ........  ..........  .......................  ${'.'.repeat(40)}`);
  }
  for (const row of rows) out.line(colour(row, rowText(row, answer), out));
  printHidden(shown.length - rows.length, answer.rows.length - certain.length, certain.length, options, out);
}

/** Several sides, each compared with the first: a column of changes for each. */
export function printComparisons(answers: readonly CompareAnswer[], options: TextOptions, out: Output): void {
  printHead(answers, options, out);
  const columns = answers.map((answer) => new Map(answer.rows.map((row) => [nameOf(row, answer), row])));
  const names = new Map<string, number>();
  for (const column of columns)
    for (const [name, { before, after, isBeyondNoise }] of column) {
      const weight = Math.abs(after - before) + (isBeyondNoise ? 1000 : 0);
      names.set(name, Math.max(names.get(name) ?? 0, weight));
    }
  const certain = [...names].filter(([, weight]) => weight >= 1000);
  const shown = (options.all ? [...names] : certain).sort(([, a], [, b]) => b - a);
  const rows = shown.slice(0, options.limit);
  if (rows.length > 0) {
    out.line('# Those marked * changed beyond noise.');
    out.line(
      `#  Before  ${answers.map((_, place) => `#${place + 1}`.padStart(11)).join(' ')}   ${titleOf(answers[0]!)}`,
    );
  }
  for (const [name] of rows) {
    const before = columns.find((column) => column.has(name))!.get(name)!.before;
    const cells = columns.map((column, place) => {
      const row = column.get(name);
      const text =
        row === undefined ? '' : `${changeText(row, answers[place]!)}${row.isBeyondNoise ? '*' : ' '}`;
      const padded = text.padStart(11);
      return row === undefined ? padded : colour(row, padded, out);
    });
    out.line(`${percentText(before).padStart(9)}  ${cells.join(' ')}   ${printable(name)}`);
  }
  printHidden(shown.length - rows.length, names.size - certain.length, certain.length, options, out);
}

function printHead(answers: readonly CompareAnswer[], { sides }: TextOptions, out: Output): void {
  const [{ unit, event, before, method, confidence }] = answers as [CompareAnswer];
  for (const [place, side] of [before, ...answers.map(({ after }) => after)].entries()) {
    const title = place === 0 ? 'Before' : answers.length === 1 ? 'After ' : `#${place}    `;
    const time = unit === 'nanoseconds' ? `, ${formatDuration(Number(side.sumPeriod))}` : '';
    out.line(
      `# ${title}: ${printable(sides[place]!.join(', '))}, ${countOf(side.samples, 'sample')} of ${printable(event)}${time}`,
    );
  }
  out.line(`# ${WORDS[method]}; the range holds for all rows together with ${100 * confidence} %`);
  if (answers.some(({ isSpreadMeasured }) => !isSpreadMeasured)) {
    out.line('# One recording a side does not tell how much runs differ: only large changes are certain.');
    out.line('# Several tell smaller ones: diff BEFORE,BEFORE,BEFORE AFTER,AFTER,AFTER (see --help)');
  }
  out.line('#');
}

function printHidden(cut: number, noise: number, certain: number, { all }: TextOptions, out: Output): void {
  if (cut > 0) out.line(`# ${countOf(cut, 'row')} more: --limit`);
  if (noise > 0 && !all)
    out.line(
      `# ${countOf(noise, 'row')} changed no more than chance and the difference between runs explain${certain === 0 ? '' : ', too'} (--all shows them)`,
    );
}

function titleOf({ sort }: CompareAnswer): string {
  if (sort.join() === 'dso,symbol') return 'Function';
  return sort.map((key) => TITLES[key] ?? key).join(', ');
}

const TITLES: Readonly<Record<string, string>> = {
  symbol: 'Function',
  dso: 'Binary',
  srcfile: 'File',
  srcline: 'Line',
  comm: 'Command',
};

function rowText(row: ChangedFunction, answer: CompareAnswer): string {
  const range = rangeText(row, answer);
  const mark = row.isBeyondNoise ? '' : '  (noise)';
  return `${percentText(row.before).padStart(9)}  ${percentText(row.after).padStart(8)}  ${changeText(row, answer).padStart(10)}  ${range.padEnd(23)}  ${printable(nameOf(row, answer))}${mark}`;
}

function changeText({ change }: ChangedFunction, { method }: CompareAnswer): string {
  if (change === null) return 'new';
  return valueText(change, method);
}

function rangeText({ low, high }: ChangedFunction, { method }: CompareAnswer): string {
  return `${valueText(low, method)} to ${high === null ? 'any' : valueText(high, method)}`;
}

function valueText(value: number, method: CompareAnswer['method']): string {
  if (method === 'ratio') return `×${value.toFixed(2)}`;
  if (method === 'wdiff') return `${value < 0 ? '-' : '+'}${Math.abs(value).toPrecision(4)}`;
  return points(value);
}

/** `second (libwork.so)`; of other rows the labels that they are told apart by. */
export function nameOf(
  { symbol, dso, labels }: ChangedFunction,
  { sort }: Pick<CompareAnswer, 'sort'>,
): string {
  const name = symbol.replace(/^(?:JS|Wasm):/, '');
  const isShort = dso === '' || dso.startsWith('[JavaScript');
  const parts = sort.map((key) => {
    if (key === 'symbol') return name;
    if (key === 'dso') return dso === '' ? '[JIT]' : dso;
    return String(labels[key as keyof typeof labels] ?? '');
  });
  if (sort.join() === 'dso,symbol') return isShort ? name : `${name} (${dso})`;
  return parts.filter((part) => part !== '').join('  ');
}

export function points(value: number): string {
  return `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(2)}`;
}

function colour(
  { isBeyondNoise, before, after, change }: ChangedFunction,
  text: string,
  { style }: Output,
): string {
  if (!isBeyondNoise) return text;
  return (change === null ? after > before : change > 0 && after >= before)
    ? style.red(text)
    : style.green(text);
}
