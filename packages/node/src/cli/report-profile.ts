import { CounterpointError, didYouMean, nearestNames, printable } from '@counterpoint/core/base';
import type { IngestResult } from '@counterpoint/core/ingest';
import type { Profile } from '@counterpoint/core/profile';
import {
  type CallTreeAnswer,
  callTree,
  parseSortKeys,
  type TopAnswer,
  type TopOptions,
  type TopRow,
  topFunctions,
} from '@counterpoint/core/query';
import type { Recording } from '../open/index.ts';
import type { VerbContext } from './args.ts';
import { lossLines } from './loss-text.ts';
import type { Output } from './output.ts';
import { ProgressLine } from './progress.ts';
import { notableDiagnostics, printDiagnostics, sampleFilter, statusForLoss } from './recording-input.ts';
import type { ReportName } from './report.ts';

type Context = VerbContext<ReportName>;

/** `report`: the functions that cost most, or the call tree, for each event. */
export async function reportProfile(context: Context, recording: Recording): Promise<number> {
  const { args, out, err } = context;
  const result = await readProfile(context, recording);
  const { profile, diagnostics } = result;
  const events = wantedEvents(profile, args.string('event'));
  const limit = args.number('limit', { min: 1 }, Number.POSITIVE_INFINITY);
  const direction = args.choice('tree', ['callees', 'callers']);
  const minimumPercent = args.number('percent-limit', { min: 0, max: 100, fraction: true });
  const answers = events.map((event) =>
    direction === undefined
      ? limitRows(topFunctions(profile, topOptions(context, event)), minimumPercent ?? 0, limit)
      : callTree(profile, { event, direction, ...(minimumPercent === undefined ? {} : { minimumPercent }) }),
  );

  if (args.boolean('json')) {
    const { loss, damage } = profile;
    out.json({ type: 'report', version: 1, events: answers, loss, damage, diagnostics });
    return statusForLoss(args, loss);
  }
  const lines = lossLines(profile.loss, profile.damage);
  for (const line of lines) out.line(out.style.yellow(`# Lost: ${line}`));
  if (answers.length === 0) out.line('# No samples.');
  answers.forEach((answer, place) => {
    if (place > 0) out.line();
    printHead(answer, lines.length > 0, out);
    if (answer.type === 'call-tree') printTree(answer, out);
    else printRows(answer, args.boolean('show-nr-samples'), out);
  });
  out.flush();
  const verbose = args.boolean('verbose');
  printDiagnostics(verbose ? diagnostics : notableDiagnostics(diagnostics, profile), err, verbose);
  return statusForLoss(args, profile.loss);
}

async function readProfile({ args, err }: Context, recording: Recording): Promise<IngestResult> {
  using progress = new ProgressLine(err);
  const needsFeatures = args.has('time');
  const features =
    needsFeatures && !recording.isStream ? (await recording.reader()).features : { raw: new Map() };
  const filter = sampleFilter(args, features);
  const keepCpu = (args.string('sort') ?? '').includes('cpu');
  return recording.profile({
    aggregate: true,
    innermostOnly: args.string('tree') === undefined && !args.boolean('children', true),
    keepCpu,
    ...(filter === undefined ? {} : { filter }),
    onProgress: progress.listener(),
  });
}

/** Events with samples, or the one that is asked for. */
function wantedEvents(profile: Profile, name: string | undefined): number[] {
  const indices = profile.events
    .map((_, index) => index)
    .filter((index) => profile.events[index]!.samples > 0);
  if (name === undefined) return indices;
  const found = profile.events.findIndex((event) => event.name === name);
  if (found >= 0) return [found];
  const names = profile.events.map((event) => event.name);
  throw new CounterpointError(
    'ERR_NO_SUCH_EVENT',
    `the recording has no event "${name}"${didYouMean(nearestNames(name, names))}`,
    `It has: ${names.join(', ')}`,
  );
}

function topOptions({ args }: Context, event: number): TopOptions {
  const options: TopOptions = { event, children: args.boolean('children', true) };
  const sort = args.string('sort');
  if (sort !== undefined) options.sort = parseSortKeys(sort);
  const dsos = args.list('dsos');
  const symbols = args.all('symbols').flatMap(splitNames);
  if (dsos.length > 0) options.dsos = new Set(dsos);
  if (symbols.length > 0) options.symbols = new Set(symbols);
  return options;
}

/** Names of C++ functions hold commas: `f<a,b>` is one name, so only commas outside brackets part names. */
function splitNames(text: string): string[] {
  const names = [''];
  let depth = 0;
  for (const char of text) {
    if ('<([{'.includes(char)) depth++;
    else if ('>)]}'.includes(char)) depth = Math.max(0, depth - 1);
    if (char === ',' && depth === 0) names.push('');
    else names[names.length - 1] += char;
  }
  return names.filter((name) => name !== '');
}

function limitRows(answer: TopAnswer, minimumPercent: number, limit: number): TopAnswer {
  const rows = answer.rows.filter((row) => row.percent >= minimumPercent).slice(0, limit);
  return { ...answer, rows };
}

/** `3K`, `551K`: perf's round numbers. */
function roundCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${Math.floor(count / 1000)}K` : `${Math.floor(count / 1_000_000)}M`;
}

function printHead(answer: TopAnswer | CallTreeAnswer, hasLoss: boolean, out: Output): void {
  if (!hasLoss) out.line('# Nothing lost.\n#');
  out.line(`# Samples: ${roundCount(answer.samples)} of event '${printable(answer.event)}'`);
  out.line(`# Event count (approx.): ${answer.sumPeriod}`);
  out.line('#');
}

interface Column {
  title: string;
  right: boolean;
  cell(row: TopRow): string;
}

function columnsOf(answer: TopAnswer, withSamples: boolean): Column[] {
  const columns: Column[] = [];
  const percent = (value: number) => `${value.toFixed(2)}%`;
  if (answer.children) {
    columns.push({ title: 'Children', right: true, cell: (row) => percent(row.percent) });
    columns.push({ title: 'Self', right: true, cell: (row) => percent(row.selfPercent) });
  } else columns.push({ title: 'Overhead', right: true, cell: (row) => percent(row.percent) });
  if (withSamples) columns.push({ title: 'Samples', right: true, cell: (row) => String(row.samples) });
  for (const key of answer.sort) {
    if (key === 'comm') columns.push({ title: 'Command', right: false, cell: (row) => row.comm ?? '' });
    else if (key === 'dso')
      columns.push({ title: 'Shared Object', right: false, cell: (row) => row.dso ?? '' });
    else if (key === 'symbol') {
      columns.push({
        title: 'Symbol',
        right: false,
        cell: (row) => `[${row.mode ?? '.'}] ${row.symbol ?? ''}`,
      });
    } else columns.push({ title: key.toUpperCase(), right: true, cell: (row) => String(row[key] ?? '') });
  }
  return columns;
}

/** The table as perf prints it: a head in comment lines, dots under it, two spaces between columns. */
function printRows(answer: TopAnswer, withSamples: boolean, out: Output): void {
  const columns = columnsOf(answer, withSamples);
  const cells = answer.rows.map((row) => columns.map((column) => printable(column.cell(row))));
  const widths = columns.map(({ title }, i) =>
    cells.reduce((width, row) => Math.max(width, row[i]!.length), title.length),
  );
  // Percentages keep perf's width, so that the columns of different reports line up.
  columns.forEach(({ title }, i) => {
    if (title === 'Overhead' || title === 'Children' || title === 'Self') widths[i] = Math.max(widths[i]!, 8);
  });
  const join = (texts: string[]) =>
    texts
      .map((text, i) => (columns[i]!.right ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  out.line(`# ${join(columns.map(({ title }, i) => title.padEnd(widths[i]!)))}`);
  out.line(`# ${widths.map((width) => '.'.repeat(Math.min(width, 60))).join('  ')}`);
  out.line('#');
  answer.rows.forEach((row, i) => {
    out.line(colourRow(`  ${join(cells[i]!)}`, row, out));
  });
}

/** perf's colours: red from 5 %, green from 0.5 %. */
function colourRow(line: string, row: TopRow, out: Output): string {
  if (row.percent >= 5) return out.style.red(line);
  return row.percent >= 0.5 ? out.style.green(line) : line;
}

function printTree(answer: CallTreeAnswer, out: Output): void {
  out.line(
    answer.direction === 'callees'
      ? '# Call tree, roots first, callees below; self is the share of the function itself'
      : '# Functions by their own time, who called them below',
  );
  out.line('#');
  printNodes(answer, out);
  if (answer.direction === 'callees' && answer.hiddenPercent >= 0.005) {
    out.line(
      `${`${answer.hiddenPercent.toFixed(2)}%`.padStart(8)}  in branches below the limit (--percent-limit)`,
    );
  }
}

/** Depth first without recursion: chains can be thousands of frames deep. A single child goes on in the same column. */
function printNodes({ roots, direction }: CallTreeAnswer, out: Output): void {
  const isDown = direction === 'callees';
  const work = roots.map((node) => ({ node, indent: '', mark: '' })).reverse();
  for (let item = work.pop(); item !== undefined; item = work.pop()) {
    const { node, indent, mark } = item;
    const self =
      isDown && node.selfPercent >= 0.005 ? out.style.dim(` self ${node.selfPercent.toFixed(2)}%`) : '';
    const share = `${node.percent.toFixed(2)}%`.padStart(8);
    out.line(
      `${share}  ${indent}${mark}${printable(node.name)} ${out.style.dim(`(${printable(node.dso)})`)}${self}`,
    );
    const only = node.children.length === 1;
    const below = mark === '' || mark === '↑ ' ? indent : indent + (mark === '├─' ? '│ ' : '  ');
    for (let i = node.children.length - 1; i >= 0; i--) {
      const isLast = i === node.children.length - 1;
      work.push({
        node: node.children[i]!,
        indent: below,
        mark: only ? (isDown ? '' : '↑ ') : isLast ? '└─' : '├─',
      });
    }
  }
}
