/**
 * The screen of `top`: a pure function from what there is to show, the state of
 * the keys and the size to lines.
 */
import { printable } from '@counterpoint/core/base';
import type { SortKey, TopRow } from '@counterpoint/core/query';
import { countOf, formatCount, formatDuration, percentText } from '../../common/human.ts';
import { type RowColumn, sortColumn } from '../../common/sort-columns.ts';
import type { Styles } from '../../common/styles.ts';
import { KEY_HELP, type TopState } from './keys.ts';
import type { TopHead, TopLook, TopTable } from './view.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ScreenContent {
  readonly head: TopHead;
  /** Null before the first look. */
  readonly look: TopLook | null;
  readonly table: TopTable | null;
  /** Of the last line. */
  readonly message: string;
}

const HEAD_LINES = 4;
const FOOT_LINES = 1;
/** Columns of names other than the last are cut to this share of the width. */
const MOST_SHARE = 0.35;

/** How many rows of the table fit on the screen. */
export function pageOf({ rows }: ScreenSize, { lines }: Pick<TopState, 'lines'>): number {
  const room = Math.max(1, rows - HEAD_LINES - FOOT_LINES);
  return lines === null ? room : Math.min(room, lines);
}

/** Exactly as many lines as the screen has, none wider than it. */
export function screenLines(
  content: ScreenContent,
  state: TopState,
  size: ScreenSize,
  style: Styles,
): string[] {
  const { head, look, table } = content;
  const page = pageOf(size, state);
  const lines = [
    style.bold(fit(`counterpoint top: ${headText(head, state)}`, size.columns)),
    fit(
      look === null ? `first table in ${formatDuration(head.intervalMs * 1e6)}` : lookText(head, look, table),
      size.columns,
    ),
    style.dim(fit(stateText(state, table, page), size.columns)),
  ];
  if (state.isHelp)
    lines.push('', ...KEY_HELP.map(([keys, what]) => fit(`  ${keys.padEnd(36)}${what}`, size.columns)));
  else if (table !== null)
    lines.push(...tableLines(table, state, { columns: size.columns, rows: page }, style));
  const body = lines.slice(0, Math.max(0, size.rows - FOOT_LINES));
  while (body.length < size.rows - FOOT_LINES) body.push('');
  const foot =
    state.prompt === null
      ? fit(printable(content.message), size.columns)
      : fitEnd(`/${printable(state.prompt)}_`, size.columns);
  return [...body, foot].slice(0, size.rows);
}

/** `cpu-clock, 4000 Hz, all processes on 2 CPUs, every 2.00 s`. */
export function headText(
  { events, target, intervalMs }: TopHead,
  { event }: Pick<TopState, 'event'>,
): string {
  const { name = '', frequencyHz = null, period = null } = events[event] ?? {};
  const rate = frequencyHz === null ? `each ${formatCount(period ?? 0n)}` : `${frequencyHz} Hz`;
  const others = events.length > 1 ? ` (event ${event + 1} of ${events.length})` : '';
  return printable(`${name}${others}, ${rate}, ${target}, every ${formatDuration(intervalMs * 1e6)}`);
}

/**
 * `3,860 samples (1,930/s), 26% kernel, 31% idle; 12 lost; handler 820 ns each,
 * 0.16% of a CPU; read in 1.40 ms`.
 */
export function lookText({ cpus }: TopHead, look: TopLook, table: TopTable | null): string {
  const { samples, kernelSamples, elapsedMs, lost, handlerNs, readNs } = look;
  const perSecond = Math.round((samples * 1000) / elapsedMs);
  const kernel = samples === 0 ? '' : `, ${Math.round((100 * kernelSamples) / samples)}% kernel`;
  const idle = table === null || table.idlePercent < 0.5 ? '' : `, ${Math.round(table.idlePercent)}% idle`;
  const share = (100 * (handlerNs ?? 0)) / (elapsedMs * 1e6 * cpus);
  const cost =
    handlerNs === null || samples === 0
      ? ''
      : `; handler ${formatDuration(handlerNs / samples)} each, ${share.toFixed(2)}% of the CPUs`;
  const total = samples + lost;
  const lostText = lost === 0 ? 'none lost' : `${formatCount(lost)} of ${formatCount(total)} lost`;
  return `${countOf(samples, 'sample')} (${formatCount(perSecond)}/s)${kernel}${idle}; ${lostText}${cost}; read in ${formatDuration(readNs)}`;
}

function stateText(state: TopState, table: TopTable | null, page: number): string {
  const parts = [`by ${state.sorts[state.sort]!.join(', ')}`];
  parts.push(state.isZero ? 'each table anew' : 'fading');
  if (state.filter !== '') parts.push(`with "${printable(state.filter)}"`);
  if (state.hideKernel) parts.push('without the kernel');
  if (state.hideUser) parts.push('kernel only');
  if (state.showIdle) parts.push('with idle');
  if (table !== null) {
    const count = table.rowCount;
    const last = Math.min(count, state.first + page);
    parts.push(
      count === 0 ? 'no rows' : `rows ${Math.min(state.first + 1, count)}-${last} of ${formatCount(count)}`,
    );
  }
  return `${state.isPaused ? 'PAUSED, ' : ''}${parts.join(', ')}; h: help`;
}

function columnsOf(sort: readonly SortKey[], withSamples: boolean): RowColumn[] {
  const columns: RowColumn[] = [
    { title: 'Overhead', isRight: true, cell: ({ percent }) => percentText(percent) },
  ];
  if (withSamples)
    columns.push({
      title: 'Samples',
      isRight: true,
      cell: ({ samples }) => formatCount(Math.round(samples)),
    });
  for (const key of sort) columns.push(sortColumn(key));
  return columns;
}

/** The head of the table and its rows. `columns` 0: as wide as it is. */
export function tableLines(
  { rows, answer }: TopTable,
  state: Pick<TopState, 'first' | 'showSamples'>,
  size: ScreenSize,
  style: Styles,
): string[] {
  const columns = columnsOf(answer.sort, state.showSamples);
  const first = Math.min(state.first, Math.max(0, rows.length - 1));
  const shown = rows.slice(first, first + size.rows);
  const cells = shown.map((row) => columns.map(({ cell }) => printable(cell(row))));
  const most =
    size.columns === 0 ? Number.POSITIVE_INFINITY : Math.max(8, Math.floor(size.columns * MOST_SHARE));
  const widths = columns.map(({ title }, index) =>
    Math.min(
      Math.max(most, title.length),
      cells.reduce((width, row) => Math.max(width, widthOf(row[index]!)), title.length),
    ),
  );
  const join = (texts: readonly string[]) => {
    const line = columns.map(({ isRight }, index) => {
      const isLast = index === columns.length - 1;
      const text = isLast ? texts[index]! : fit(texts[index]!, widths[index]!);
      const padding = ' '.repeat(Math.max(0, widths[index]! - widthOf(text)));
      return isRight ? padding + text : isLast ? text : text + padding;
    });
    const whole = line.join('  ').trimEnd();
    return size.columns === 0 ? whole : fit(whole, size.columns);
  };
  const heading = style.bold(join(columns.map(({ title }) => title)));
  return [heading, ...cells.map((row, index) => paint(join(row), shown[index]!, style))];
}

/** perf's colours: red from 5 %, green from 0.5 %. */
function paint(line: string, { percent }: TopRow, style: Styles): string {
  return percent >= 5 ? style.red(line) : percent >= 0.5 ? style.green(line) : line;
}

/** Cut to a width; the cut is shown. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width <= 0 ? '' : `${takeWidth([...text], width - 1)}…`;
}

/** The end of what is being typed. */
function fitEnd(text: string, width: number): string {
  const characters = [...text];
  let from = 0;
  while (from < characters.length && widthOf(characters.slice(from).join('')) > width) from++;
  return characters.slice(from).join('');
}

function takeWidth(characters: readonly string[], width: number): string {
  let taken = '';
  let used = 0;
  for (const character of characters) {
    used += characterWidth(character);
    if (used > width) break;
    taken += character;
  }
  return taken;
}

function widthOf(text: string): number {
  // Names are ASCII but for rare ones.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Columns of a terminal: wide scripts and pictures take two (Unicode UAX #11), marks that combine none. */
function characterWidth(character: string): number {
  if (/\p{Mark}/u.test(character)) return 0;
  return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(
    character,
  )
    ? 2
    : 1;
}
