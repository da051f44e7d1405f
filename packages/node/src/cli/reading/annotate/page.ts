/** Functions as one page for browsers: no script, nothing loaded from elsewhere. */
import { printable } from '@counterpoint/core/base';
import { writeChunks } from '../../common/export-file.ts';
import { countOf, twoDigits } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';
import type { Annotation } from './annotation.ts';
import { arrowsOf } from './arrows-of-listing.ts';
import { NoCode } from './code-of-binary.ts';
import type { Listing } from './listing.ts';
import { baseName, type ShownRow, shownRows } from './shown-rows.ts';
import type { SourceText } from './source-text.ts';
import { headingOf } from './text.ts';

const STYLE = `
:root { color-scheme: light dark; font: 13px/1.45 system-ui, sans-serif; }
body { margin: 1.5em; }
h2 { font-size: 1.05em; margin: 2em 0 .5em; }
table { border-collapse: collapse; font: 12px/1.35 ui-monospace, monospace; }
td { padding: 0 .6em; white-space: pre; }
td.share, td.count { text-align: right; font-variant-numeric: tabular-nums; }
td.arrows, td.address { color: GrayText; padding-right: 0; }
tr.source td, tr.place td { background: color-mix(in srgb, CanvasText 6%, Canvas); }
tr.place td { font-style: italic; }
tr:target td { outline: 1px solid Highlight; }
td.hot { color: #d1242f; }
a { color: inherit; }
nav li { margin: .1em 0; }
`;

export async function writePage(
  annotations: readonly Annotation[],
  source: SourceText | null,
  path: string,
  out: Output,
  err: Output,
): Promise<void> {
  const bytes = await writeChunks(pageOf(annotations, source), path, out);
  if (bytes !== null) err.line(`Wrote ${printable(path)}: ${countOf(annotations.length, 'function')}.`);
}

export function* pageOf(annotations: readonly Annotation[], source: SourceText | null): Generator<string> {
  yield `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Annotated functions</title>\n<style>${STYLE}</style></head><body>\n`;
  if (annotations.length > 1) {
    yield '<nav><ol>\n';
    for (const [place, one] of annotations.entries())
      yield `<li><a href="#f${place}">${escaped(one.samples.symbol)}</a> ${escaped(one.binary.name)}, ${escaped(one.eventName)}: ${countOf(one.samples.samples, 'sample')}</li>\n`;
    yield '</ol></nav>\n';
  }
  for (const [place, one] of annotations.entries()) {
    yield `<h2 id="f${place}">${escaped(headingOf(one))}</h2>\n`;
    if (one.listing instanceof NoCode)
      yield `<p>The code is not known: ${escaped(one.listing.detail)}.</p>\n`;
    else yield* tableOf(one.listing, source, `f${place}`);
  }
  yield '</body></html>\n';
}

function* tableOf(listing: Listing, source: SourceText | null, id: string): Generator<string> {
  const { cells, isHot } = arrowsOf(listing.instructions);
  const most = listing.instructions.reduce((sum, { percent }) => Math.max(sum, percent), 0);
  yield '<table>\n';
  for (const row of shownRows(listing, source, false)) {
    if (row.kind !== 'instruction') {
      yield sourceRow(row);
      continue;
    }
    const { percent, samples, address, text, jumpsTo } = listing.instructions[row.index]!;
    const hex = address.toString(16);
    const code =
      jumpsTo === null
        ? escaped(text)
        : `<a href="#${id}-${listing.instructions[jumpsTo]!.address.toString(16)}">${escaped(text)}</a>`;
    yield `<tr id="${id}-${hex}"${heatStyle(percent, most)}><td class="share">${percent === 0 ? '' : twoDigits(percent)}</td><td class="count">${samples === 0 ? '' : samples}</td><td class="arrows${isHot(row.index) ? ' hot' : ''}">${cells[row.index]}</td><td class="address">${hex}</td><td>${code}</td></tr>\n`;
  }
  yield '</table>\n';
}

function sourceRow(row: Exclude<ShownRow, { kind: 'instruction' }>): string {
  if (row.kind === 'place')
    return `<tr class="place"><td></td><td></td><td colspan="3">${escaped(row.text)}</td></tr>\n`;
  const { total, file, line, text } = row;
  const share = total === null || total.samples === 0 ? '' : twoDigits(total.percent);
  const count = total === null || total.samples === 0 ? '' : String(total.samples);
  const place = text === null ? `${baseName(file)}:${line}` : String(line).padStart(4);
  return `<tr class="source" title="${escaped(file)}:${line}"><td class="share">${share}</td><td class="count">${count}</td><td colspan="3">${escaped(`${place}  ${text ?? ''}`)}</td></tr>\n`;
}

/** The hottest instruction is the reddest. */
function heatStyle(percent: number, most: number): string {
  if (percent === 0 || most === 0) return '';
  const strength = Math.round(8 + (52 * percent) / most);
  return ` style="background:color-mix(in srgb, #ff3b30 ${strength}%, Canvas)"`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return printable(text).replace(/[&<>"]/g, (character) => ESCAPES[character]!);
}
