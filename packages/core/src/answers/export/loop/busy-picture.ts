import type { LoopRow } from '../../index.ts';
import { durationText } from '../numbers.ts';
import { INNER_WIDTH, MARGIN } from './geometry.ts';

const HEIGHT = 48;
const MARK_HEIGHT = 7;
const AXIS_HEIGHT = 20;
const MOST_TICKS = 10;
const NARROWEST = 1.5;
/** Room for the number of a turn, so that no two lie one on the other. */
const NUMBER_WIDTH = 14;

export const BUSY_HEIGHT = HEIGHT + MARK_HEIGHT + AXIS_HEIGHT + 16;

/**
 * How busy the loop was, over the time of the whole recording; below it, when the longest turns were.
 *
 *   |    ##        #|   100 %: the loop waited for nothing in this part of the time
 *   |####  ####  ## |
 *   |    [1]  [2]   |   turns, with their numbers in the list
 *   0 s      1 s
 */
export function drawBusy(loop: LoopRow, durationNs: number, top: number): string {
  const scale = INNER_WIDTH / Math.max(1, durationNs);
  const base = top + HEIGHT;
  const xOf = (ns: number) => MARGIN + ns * scale;
  const busy = busyPath(loop, durationNs, base, xOf);
  return (
    `<rect class="field" x="${MARGIN}" y="${top}" width="${INNER_WIDTH}" height="${HEIGHT}"/>` +
    `<path class="busy" d="${busy}"><title>Busy time of the loop; the whole height is 100 %</title></path>` +
    drawMarks(loop, base + 2, xOf, scale) +
    drawAxis(durationNs, base + MARK_HEIGHT + 16, xOf)
  );
}

function busyPath(
  { startNs, timeline }: LoopRow,
  durationNs: number,
  base: number,
  xOf: (ns: number) => number,
): string {
  const { binNs, busyNs } = timeline;
  let path = `M${short(xOf(startNs))} ${base}`;
  for (const [bin, ns] of busyNs.entries()) {
    const fromNs = startNs + bin * binNs;
    const toNs = Math.min(durationNs, fromNs + binNs);
    // The last one may be cut by the end of the recording.
    const share = toNs > fromNs ? Math.min(1, ns / (toNs - fromNs)) : 0;
    path += `V${short(base - share * HEIGHT)}H${short(xOf(toNs))}`;
  }
  return `${path}V${base}z`;
}

function drawMarks({ longest }: LoopRow, top: number, xOf: (ns: number) => number, scale: number): string {
  let marks = '';
  const numbered: number[] = [];
  for (const [index, { startNs, lengthNs }] of longest.entries()) {
    const x = xOf(startNs);
    const width = Math.max(NARROWEST, lengthNs * scale);
    marks += `<rect class="mark" x="${short(x)}" y="${top}" width="${short(width)}" height="${MARK_HEIGHT}"><title>${index + 1}: ${durationText(lengthNs)}</title></rect>`;
    const middle = x + width / 2;
    // Of turns that lie close together the longest has its number.
    if (numbered.some((other) => Math.abs(other - middle) < NUMBER_WIDTH)) continue;
    numbered.push(middle);
    marks += `<text class="number" text-anchor="middle" x="${short(middle)}" y="${top + MARK_HEIGHT + 11}">${index + 1}</text>`;
  }
  return marks;
}

/** Times in the middle between the numbers of turns and the next loop. */
function drawAxis(durationNs: number, top: number, xOf: (ns: number) => number): string {
  const stepNs = tickStep(durationNs);
  let ticks = '';
  for (let ns = 0; ns <= durationNs; ns += stepNs) {
    const x = short(xOf(ns));
    const isLast = xOf(ns) > MARGIN + INNER_WIDTH - 40;
    ticks += `<path class="tick" d="M${x} ${top - 23 - HEIGHT}v${HEIGHT}"/>`;
    ticks += `<text class="legend" text-anchor="${ns === 0 ? 'start' : isLast ? 'end' : 'middle'}" x="${x}" y="${top + 12}">${ns === 0 ? '0' : durationText(ns)}</text>`;
  }
  return ticks;
}

/** 1, 2 or 5 of a power of ten, so that there are at most ten. */
export function tickStep(durationNs: number): number {
  const least = Math.max(1, durationNs / MOST_TICKS);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10);
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
