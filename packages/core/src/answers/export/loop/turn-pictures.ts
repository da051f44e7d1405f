import { printable } from '../../../base/index.ts';
import type { LoopFunction, LoopRow, LoopTurn, TurnKind } from '../../index.ts';
import { cut, fitText } from '../flame/fit-text.ts';
import { COLUMN } from '../flame/geometry.ts';
import { xmlText } from '../flame/still.ts';
import { durationText } from '../numbers.ts';
import { INNER_WIDTH, LETTER, MARGIN } from './geometry.ts';
import { WORK_WORDS, workKind } from './work-colours.ts';

const ROW_HEIGHT = 44;
const BAR_HEIGHT = 18;
const TITLE_HEIGHT = 28;
const LABEL_WIDTH = 150;
const BAR_WIDTH = INNER_WIDTH - LABEL_WIDTH;
const NARROWEST = 0.4;
const MOST_CALLERS = 3;

export function turnsHeight({ longest }: LoopRow): number {
  return longest.length === 0 ? 0 : TITLE_HEIGHT + longest.length * ROW_HEIGHT;
}

/** The longest turns below each other, all in one scale: what each did when, and who is to blame. */
export function drawTurns({ longest }: LoopRow, top: number): string {
  if (longest.length === 0) return '';
  const mostNs = Math.max(1, ...longest.map(({ lengthNs }) => lengthNs));
  const rows = longest.map((turn, index) =>
    drawTurn(turn, index + 1, top + TITLE_HEIGHT + index * ROW_HEIGHT, BAR_WIDTH / mostNs),
  );
  return `<text class="head" x="${MARGIN}" y="${top + 18}">Longest turns</text>${rows.join('')}`;
}

function drawTurn(turn: LoopTurn, number: number, top: number, scale: number): string {
  const left = MARGIN + LABEL_WIDTH;
  const when = `${number}.  at ${(turn.startNs / 1e9).toFixed(3)} s`;
  return (
    `<text class="legend" x="${MARGIN}" y="${top + 13}">${when}</text>` +
    `<text x="${left - 10}" y="${top + 13}" text-anchor="end">${durationText(turn.lengthNs)}</text>` +
    drawParts(turn, left, top, scale) +
    `<text x="${left}" y="${top + BAR_HEIGHT + 13}">${xmlText(cut(storyOf(turn), Math.floor(BAR_WIDTH / LETTER)))}</text>`
  );
}

function drawParts({ parts, lengthNs }: LoopTurn, left: number, top: number, scale: number): string {
  let boxes = `<rect class="unknown" x="${left}" y="${top}" width="${short(Math.max(1, lengthNs * scale))}" height="${BAR_HEIGHT}"/>`;
  let names = '';
  for (const part of parts) {
    const x = left + part.startNs * scale;
    const width = part.lengthNs * scale;
    if (width < NARROWEST) continue;
    const kind = workKind(part);
    const who = part.function === '' ? '' : ` in ${part.isInferred ? 'probably ' : ''}${part.function}`;
    const told = `${durationText(part.lengthNs)} ${part.work === '' ? WORK_WORDS[kind] : part.work}${who}`;
    boxes += `<rect class="${kind}" x="${short(x)}" y="${top}" width="${short(width)}" height="${BAR_HEIGHT}"><title>${xmlText(printable(told))}</title></rect>`;
    const name = part.state === 'cpu' ? part.function : part.work;
    const text = name === '' ? null : fitText(printable(name), '', width, COLUMN);
    if (text !== null)
      names += `<text class="name" x="${short(x + 4)}" y="${top + 13}">${xmlText(text.name)}</text>`;
  }
  return boxes + names;
}

const KINDS: Readonly<Record<TurnKind, string>> = {
  turn: '',
  start: 'start of the program, before its first wait: ',
  end: 'the thread ended in it: ',
  cut: 'cut by the recording: ',
};

/** The function that took most, who called it, and what kept it where it did not run itself. */
function storyOf({ kind, function: most, stack, waits, lengthNs, waitingNs, readyNs }: LoopTurn): string {
  const callers = stack
    .filter(({ file }) => file !== null && !file.startsWith('node:'))
    .slice(0, MOST_CALLERS)
    .map(nameOf);
  const parts = [`${KINDS[kind]}${most === null ? '[not sampled]' : nameOf(most)}`];
  if (callers.length > 0) parts.push(`called by ${callers.join(' < ')}`);
  if (waitingNs > lengthNs / 2) parts.push(`waited: ${waits[0]?.cause ?? 'unknown'}`);
  if (readyNs > lengthNs / 2) parts.push('most of it ready, while no CPU was free');
  return parts.join(', ');
}

function nameOf({ name, file, line }: LoopFunction): string {
  const place =
    file === null ? '' : ` (${file.slice(file.lastIndexOf('/') + 1)}${line === null ? '' : `:${line}`})`;
  return printable(`${name}${place}`);
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
