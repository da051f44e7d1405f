import type { TimeRange } from '@counterpoint/core/ingest';

/** First and last time of the samples of a recording. */
export interface TimeSpan {
  first: bigint;
  last: bigint;
}

/** What is wrong with a `--time`: what it should be. */
export class TimeFormError extends Error {}

const FORMS = 'FROM,TO in seconds, or parts such as 10%, 10%/2 or 0%-10%,30%-40%';
const NS = 1_000_000_000n;

/**
 * perf's forms of `--time` (perf-script(1), util/time-utils.c), which may be mixed where perf's may not:
 *
 *   FROM,TO [FROM,TO ...]   seconds of the recording's clock; either may be left out; both ends belong to it
 *   10%                     the first tenth
 *   10%/2,10%/4             the second and the fourth tenth
 *   0%-10%,30%-40%          from, to
 *
 * The end of a part belongs to the next one, but for the last moment of all.
 */
export function parseTimes(text: string, span: TimeSpan | undefined): TimeRange[] {
  if (!text.includes('%')) return secondsRanges(text);
  if (span === undefined)
    throw new TimeFormError('seconds, because the recording does not say when it begins and ends');
  const pieces = text.split(',').map((piece) => piece.trim());
  const isAlone = pieces.length === 1;
  return pieces.map((piece) => partOf(piece, span, isAlone));
}

function secondsRanges(text: string): TimeRange[] {
  // Blanks around the comma of a single range do no harm; of several they stand between them.
  const pieces = text.split(',').length === 2 ? [text] : text.trim().split(/\s+/);
  return pieces.map((piece) => {
    const parts = piece.split(',');
    if (parts.length !== 2) throw new TimeFormError(FORMS);
    const [fromNs, toNs] = parts.map(secondsToNs);
    if (fromNs != null && toNs != null && fromNs > toNs) throw new TimeFormError('FROM before TO');
    return { fromNs: fromNs ?? null, toNs: toNs ?? null };
  });
}

function secondsToNs(text: string): bigint | null {
  if (text.trim() === '') return null;
  const match = /^(\d+)(?:\.(\d{0,9}))?$/.exec(text.trim());
  if (match === null) throw new TimeFormError(FORMS);
  return BigInt(match[1]!) * NS + BigInt((match[2] ?? '').padEnd(9, '0'));
}

const NUMBER = String.raw`(\d+(?:\.\d+)?|\.\d+)`;
const FROM_TO = new RegExp(`^${NUMBER}%-${NUMBER}%$`);
const SLICE = new RegExp(`^${NUMBER}%/(\\d{1,9})$`);
const FIRST = new RegExp(`^${NUMBER}%$`);

function partOf(piece: string, span: TimeSpan, isAlone: boolean): TimeRange {
  const slice = SLICE.exec(piece);
  if (slice !== null) {
    const [share, number] = [Number(slice[1]) / 100, Number(slice[2])];
    return range(share * (number - 1), share * number, span);
  }
  const fromTo = FROM_TO.exec(piece);
  if (fromTo !== null) return range(Number(fromTo[1]) / 100, Number(fromTo[2]) / 100, span);
  const first = FIRST.exec(piece);
  // `10%,20%` could as well be meant from one to the other.
  if (first === null || !isAlone) throw new TimeFormError(FORMS);
  return range(0, Number(first[1]) / 100, span);
}

/** A slice may end at 100.00000000000001 %. */
const ROUNDING = 1e-9;

function range(from: number, to: number, { first, last }: TimeSpan): TimeRange {
  if (from < 0 || to <= 0 || from > to || to > 1 + ROUNDING)
    throw new TimeFormError('a part from lower to higher, up to 100%, such as 10%-20% or 10%/2');
  const at = (share: number) => first + BigInt(Math.round(Math.min(share, 1) * Number(last - first)));
  const [fromNs, toNs] = [at(from), at(to)];
  return { fromNs, toNs: toNs > fromNs && toNs !== last ? toNs - 1n : toNs };
}
