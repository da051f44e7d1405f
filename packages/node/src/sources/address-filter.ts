import { statSync } from 'node:fs';
import { CounterpointError, didYouMean, nearestNames, printable } from '@counterpoint/core/base';
import type { EventLookup, ProbeFile } from '@counterpoint/core/events';

/** Words of perf, what the kernel calls them, and whether they are about a range. */
const ACTIONS: Readonly<Record<string, readonly [kernel: string, isRange: boolean]>> = {
  filter: ['filter', true],
  start: ['start', false],
  stop: ['stop', false],
  tracestop: ['stop', true],
};

const REMEDY =
  "Give filter, start, stop or tracestop, then a function or address, maybe ' / ' and where it ends, and the file: --filter 'filter main @ ./program'.";

interface Place {
  start: number;
  /** Null: a number says nothing of it. */
  size: number | null;
}

/**
 * Address filters as perf writes them, in the kernel's words (PERF_EVENT_IOC_SET_FILTER):
 * places are offsets in the file.
 *
 *   filter main / work @ ./program          filter 0x1168/0x73@/home/me/program
 *   list   := one { (',' | ' ') one }
 *   one    := ACTION ' ' place [ ' / ' place-or-size ] [ '@' FILE ]
 *   place  := FUNCTION | NUMBER | '*'        '*' is the whole file; without a file numbers are the kernel's
 *
 * A number may have '/' and '@' right behind it; a function's name ends at a blank.
 */
export function addressFilters(text: string, lookup: Pick<EventLookup, 'probeFile'>): string {
  const reader = new FilterReader(text);
  const found: string[] = [];
  while (reader.skipSeparators()) found.push(readFilter(reader, lookup));
  if (found.length === 0) throw refused(text, 'it is empty');
  return found.join(',');
}

function readFilter(reader: FilterReader, lookup: Pick<EventLookup, 'probeFile'>): string {
  const word = reader.word();
  const action = ACTIONS[word];
  if (action === undefined) throw refused(reader.text, `it knows no '${printable(word)}'`);
  const start = reader.place();
  if (start === '') throw refused(reader.text, `no place follows ${word}`);
  const end = reader.take('/') ? reader.place() : null;
  const path = reader.take('@') ? reader.word() : null;
  const [kernel, isRange] = action;
  if (path === null) return `${kernel} ${inKernel(reader.text, start, end, isRange)}`;
  const file = openFile(reader.text, path, lookup);
  if (start === '*') return `${kernel} 0x0/${hex(statSync(file.path).size)}@${file.path}`;
  const from = placeOf(reader.text, start, file);
  const size = end === null ? (from.size ?? 0) : sizeUpTo(reader.text, from, end, file);
  return `${kernel} ${hex(from.start)}${isRange || end !== null ? `/${hex(size)}` : ''}@${file.path}`;
}

/** Of the kernel only numbers: its functions move at each start. */
function inKernel(text: string, start: string, end: string | null, isRange: boolean): string {
  const numbers = [start, ...(end === null ? [] : [end])].map(numberOf);
  if (numbers.includes(null)) throw refused(text, `'${printable(start)}' is in no file: none is named`);
  const [from, size = 0n] = numbers as bigint[];
  return `0x${from!.toString(16)}${isRange || end !== null ? `/0x${size.toString(16)}` : ''}`;
}

function sizeUpTo(text: string, from: Place, end: string, file: ProbeFile): number {
  const number = numberOf(end);
  if (number !== null) return Number(number);
  const to = placeOf(text, end, file);
  const size = to.start + (to.size ?? 0) - from.start;
  if (size <= 0) throw refused(text, `${printable(end)} ends before the place where the range begins`);
  return size;
}

function placeOf(text: string, word: string, file: ProbeFile): Place {
  const number = numberOf(word);
  if (number !== null) return { start: Number(number), size: null };
  const address = file.functions.get(word);
  const start = address === undefined ? null : file.offsetOf(address);
  if (start === null) {
    const near = didYouMean(nearestNames(word, [...file.functions.keys()]));
    throw refused(text, `${file.path} has no function ${printable(word)}${near}`);
  }
  return { start, size: file.sizes?.get(word) ?? 0 };
}

function openFile(text: string, path: string, lookup: Pick<EventLookup, 'probeFile'>): ProbeFile {
  const file = path === '' ? undefined : lookup.probeFile?.(path);
  if (file === undefined) throw refused(text, 'no file follows @');
  if ('unavailable' in file) throw refused(text, file.unavailable);
  return file;
}

function numberOf(word: string): bigint | null {
  return /^(?:0x[0-9a-f]+|\d+)$/i.test(word) ? BigInt(word) : null;
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

function refused(text: string, why: string): CounterpointError {
  return new CounterpointError(
    'ERR_FILTER',
    `the filter '${printable(text)}' is no address filter: ${why}`,
    REMEDY,
  );
}

/** Where a list of filters was read up to. */
class FilterReader {
  readonly text: string;
  #at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** False: there is nothing more. */
  skipSeparators(): boolean {
    this.#match(/[\s,]*/y);
    return this.#at < this.text.length;
  }

  word(): string {
    return this.#match(/\s*[^\s,]*/y).trim();
  }

  /** A number ends where it is none any more, a name at a blank. */
  place(): string {
    const number = this.#match(/\s*(?:0x[0-9a-f]+|\d+|\*)(?=[\s,/@]|$)/iy);
    return (number === '' ? this.#match(/\s*[^\s,]*/y) : number).trim();
  }

  take(mark: '/' | '@'): boolean {
    return this.#match(mark === '/' ? /\s*\/\s*/y : /\s*@\s*/y) !== '';
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}
