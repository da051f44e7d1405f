import { printable } from '../../../base/index.ts';
import type { LoopRow, LoopsAnswer } from '../../index.ts';
import { cut, wrapWords } from '../flame/fit-text.ts';
import { xmlText } from '../flame/still.ts';
import { lossTotals } from '../loss-words.ts';
import { countText, durationText } from '../numbers.ts';
import { BUSY_HEIGHT, drawBusy } from './busy-picture.ts';
import { INNER_WIDTH, LETTER, MARGIN, WIDTH } from './geometry.ts';
import { loopStyle } from './style.ts';
import { drawTurns, turnsHeight } from './turn-pictures.ts';
import { WORK_KINDS, WORK_WORDS } from './work-colours.ts';

/** Loops of a cluster's hundred processes would make a picture that nobody can look at. */
const MOST_LOOPS = 24;
const MOST_LINES = 4;
const HEAD_HEIGHT = 40;
const LINE_HEIGHT = 17;
const LOOP_HEAD_HEIGHT = 44;
const GAP = 24;
const FOOTER_HEIGHT = 36;

/** What the picture says at its top. */
export interface LoopSvgOptions {
  /** Default: `Event loop`, with the names of the programs. */
  title?: string;
}

/**
 * The event loops of an answer as one picture without scripts: for each loop how busy it was over time, and
 * its longest turns with what they did. Names and times show when the pointer rests on a box.
 *
 * A viewer needs nothing else: no network, no font. It is bounded: at most 24 loops, with `limit` turns each.
 */
export function writeLoopSvg(answer: LoopsAnswer, { title }: LoopSvgOptions = {}): string {
  const loops = answer.loops.slice(0, MOST_LOOPS);
  const lines = headLines(answer, loops.length);
  let top = HEAD_HEIGHT + lines.length * LINE_HEIGHT + 8;
  let body = '';
  for (const loop of loops) {
    body += drawLoopHead(loop, top) + drawBusy(loop, answer.durationNs, top + LOOP_HEAD_HEIGHT);
    body += drawTurns(loop, top + LOOP_HEAD_HEIGHT + BUSY_HEIGHT);
    top += LOOP_HEAD_HEIGHT + BUSY_HEIGHT + turnsHeight(loop) + GAP;
  }
  const name = title ?? `Event loop of ${programsOf(answer)}`;
  const height = top + FOOTER_HEIGHT;
  const head = lines.map(
    (line, index) =>
      `<text class="legend" x="${MARGIN}" y="${HEAD_HEIGHT + 12 + index * LINE_HEIGHT}">${xmlText(line)}</text>`,
  );
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">\n` +
    `<title>${xmlText(printable(name))}</title>\n<style>${loopStyle()}</style>\n` +
    '<rect class="page" width="100%" height="100%"/>' +
    `<text class="title" x="${MARGIN}" y="32">${xmlText(cut(printable(name), 110))}</text>` +
    `${head.join('')}\n${body}\n${drawLegend(top)}\n</svg>\n`
  );
}

function programsOf({ loops }: LoopsAnswer): string {
  const names = [...new Set(loops.map(({ comm }) => comm))];
  return names.length === 0 ? 'nothing: no loop was seen' : names.slice(0, 3).join(', ');
}

/** How long it was watched, what is lost, what is left out. */
function headLines({ durationNs, loops, loss, notes, damage }: LoopsAnswer, shown: number): string[] {
  const lost = lossTotals(loss).map(({ words }) => words);
  if (damage.length > 0) lost.push('parts of the input are damaged');
  const facts = [
    `${durationText(durationNs)}, ${countText(loops.length)} ${loops.length === 1 ? 'loop' : 'loops'}`,
    lost.length === 0 ? 'nothing lost' : `lost: ${lost.join('; ')}`,
  ];
  if (loops.length > shown) facts.push(`${loops.length - shown} loops are left out of the picture`);
  const columns = Math.floor(INNER_WIDTH / LETTER);
  return [facts.join(' · '), ...notes].flatMap((text) => wrapWords(printable(text), columns, MOST_LINES));
}

function drawLoopHead(loop: LoopRow, top: number): string {
  const { role, pid, tid, busyNs, idleNs, busyPercent, turns, lengths } = loop;
  const who =
    role === 'main' ? `main thread of ${pid}` : `${role === 'worker' ? 'worker' : 'thread'} ${tid} of ${pid}`;
  const facts = [
    `busy ${busyPercent.toFixed(1)} % of ${durationText(busyNs + idleNs)}`,
    `${countText(turns)} ${turns === 1 ? 'turn' : 'turns'}`,
  ];
  if (lengths !== null)
    facts.push(
      `median ${durationText(lengths.p50Ns)}`,
      `p99 ${durationText(lengths.p99Ns)}`,
      `longest ${durationText(lengths.maxNs)}`,
    );
  if (loop.state === 'no-wait') facts.push('it did not come back to its wait once');
  return (
    `<text class="head" x="${MARGIN}" y="${top + 16}">${xmlText(printable(`${loop.comm}, ${who}`))}</text>` +
    `<text class="legend" x="${MARGIN}" y="${top + 34}">${xmlText(facts.join(' · '))}</text>`
  );
}

function drawLegend(top: number): string {
  let x = MARGIN;
  let swatches = '';
  for (const kind of WORK_KINDS) {
    const words = WORK_WORDS[kind];
    swatches +=
      `<rect class="${kind} edge" x="${x}" y="${top}" width="12" height="12" rx="2"/>` +
      `<text class="legend" x="${x + 18}" y="${top + 10}">${words}</text>`;
    x += 18 + words.length * LETTER + 14;
  }
  return swatches;
}
