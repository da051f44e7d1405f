import { printable } from '@counterpoint/core/base';
import { countOf, percentText, twoDigits } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';
import { type Annotation, heatOf } from './annotation.ts';
import { arrowsOf } from './arrows-of-listing.ts';
import { NoCode } from './code-of-binary.ts';
import type { Hits } from './function-samples.ts';
import type { ListedInstruction, Listing } from './listing.ts';
import { baseName, type ShownRow, shownRows } from './shown-rows.ts';
import { expandTabs, type SourceText } from './source-text.ts';

export interface TextOptions {
  /** Null: instructions only. */
  readonly source: SourceText | null;
  readonly showSamples: boolean;
  readonly listLines: boolean;
  readonly fullPaths: boolean;
  readonly showBytes: boolean;
}

/** Hottest lines that `--print-line` lists. */
const MOST_LINES = 20;

export function printAnnotation(annotation: Annotation, options: TextOptions, out: Output): void {
  const heading = headingOf(annotation);
  const columns = ` Percent |${options.showSamples ? ' Samples |' : ''} `;
  out.line(out.style.bold(printable(`${columns}${heading}`)));
  out.line('-'.repeat(columns.length + heading.length));
  const { listing } = annotation;
  if (listing instanceof NoCode) {
    printOffsets(annotation, listing, options, out);
    return;
  }
  const printer = new Printer(listing, options, out);
  if (options.listLines) printer.lines();
  for (const row of shownRows(listing, options.source, options.fullPaths)) printer.row(row);
  const { outside } = listing;
  if (outside.samples > 0)
    out.line(out.style.yellow(`# ${countOf(outside.samples, 'sample')} fell behind the code that was read.`));
}

/** What is shown, in words. */
export function headingOf({ samples, binary, eventName, all, percentType, isExact }: Annotation): string {
  const count = isExact
    ? `${countOf(samples.samples, 'instruction')} executed, counted`
    : countOf(samples.samples, 'sample');
  const share = all.period > 0 ? `, ${percentText((100 * samples.period) / all.period)} of all` : '';
  const { recordedName, symbol } = samples;
  const name = recordedName !== null && recordedName !== symbol ? `${symbol} (as ${recordedName})` : symbol;
  return `Source code & disassembly of ${name} in ${binary.name} for ${eventName} (${count}${share}; percent: ${percentType.replace('-', ' ')})`;
}

/** Without code, where in the function samples fell can still be told. */
function printOffsets(
  { samples, all, percentType }: Annotation,
  { detail, remedy }: NoCode,
  options: TextOptions,
  out: Output,
): void {
  out.line(out.style.yellow(`# The code is not known: ${printable(detail)}.`));
  if (remedy !== '') out.line(`# ${printable(remedy)}`);
  out.line('# Samples by the distance from where the function begins:');
  const total = percentType.startsWith('local') ? samples : all;
  const [own, whole] = percentType.endsWith('hits')
    ? [(hits: Hits) => hits.samples, total.samples]
    : [(hits: Hits) => hits.period, total.period];
  for (const [offset, hits] of [...samples.byOffset].sort(([a], [b]) => a - b)) {
    const percent = whole === 0 ? 0 : (100 * own(hits)) / whole;
    out.line(`${cells(hits, percent, ':', options, out)} +0x${offset.toString(16)}`);
  }
}

class Printer {
  readonly #listing: Listing;
  readonly #options: TextOptions;
  readonly #out: Output;
  readonly #arrows: ReturnType<typeof arrowsOf>;
  readonly #addressWidth: number;
  readonly #bytesWidth: number;

  constructor(listing: Listing, options: TextOptions, out: Output) {
    this.#listing = listing;
    this.#options = options;
    this.#out = out;
    const { instructions } = listing;
    this.#arrows = arrowsOf(instructions);
    this.#addressWidth = (instructions.at(-1)?.address ?? 0n).toString(16).length;
    this.#bytesWidth = instructions.reduce((most, { bytes }) => Math.max(most, bytes.length * 3), 0);
  }

  lines(): void {
    const out = this.#out;
    const hot = this.#listing.lines.filter(({ samples }) => samples > 0);
    if (hot.length === 0) out.line('# No lines are known: the binary has no debug information.');
    else out.line('# The hottest lines:');
    for (const line of hot.slice(0, MOST_LINES)) {
      const place = `${this.#path(line.file)}:${line.line}`;
      const text = expandTabs(this.#options.source?.line(line.file, line.line)?.trim() ?? '');
      out.line(
        `${this.#cells(line, line.percent, '|')} ${printable(`${place.padEnd(24)} ${text}`.trimEnd())}`,
      );
    }
    if (hot.length > MOST_LINES) out.line(`# ${countOf(hot.length - MOST_LINES, 'line')} more: --json`);
    out.line();
  }

  row(row: ShownRow): void {
    const out = this.#out;
    if (row.kind === 'instruction') this.#instruction(this.#listing.instructions[row.index]!, row.index);
    else if (row.kind === 'place') out.line(`${this.#blank('|')} ${out.style.cyan(printable(row.text))}`);
    else {
      const { total, file, line, text } = row;
      const before = total === null ? this.#blank('|') : this.#cells(total, total.percent, '|');
      const isNamed = this.#options.listLines || text === null;
      const place = isNamed ? `${this.#path(file)}:${line}` : String(line);
      out.line(`${before} ${out.style.dim(place.padEnd(5))} ${printable(text ?? '')}`.trimEnd());
    }
  }

  #instruction(instruction: ListedInstruction, index: number): void {
    const { style } = this.#out;
    const arrows = this.#arrows.cells[index]!;
    const gutter = this.#arrows.isHot(index) ? style.red(arrows) : style.dim(arrows);
    const address = instruction.address.toString(16).padStart(this.#addressWidth);
    const bytes = this.#options.showBytes ? `${hexOf(instruction.bytes).padEnd(this.#bytesWidth)} ` : '';
    const before = this.#cells(instruction, instruction.percent, ':');
    this.#out.line(`${before} ${gutter} ${address}:   ${bytes}${printable(instruction.text)}`);
  }

  #cells(hits: Hits, percent: number, end: string): string {
    return cells(hits, percent, end, this.#options, this.#out);
  }

  #blank(end: string): string {
    return `${' '.repeat(8)} ${end}${this.#options.showSamples ? `${' '.repeat(8)} ${end}` : ''}`;
  }

  #path(file: string): string {
    return this.#options.fullPaths ? file : baseName(file);
  }
}

function cells(
  { samples }: Hits,
  percent: number,
  end: string,
  { showSamples }: TextOptions,
  { style }: Output,
): string {
  const text = twoDigits(percent).padStart(8);
  const heat = heatOf(percent);
  const coloured = heat === null ? text : style[heat](text);
  return `${coloured} ${end}${showSamples ? `${String(samples).padStart(8)} ${end}` : ''}`;
}

export function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
}
