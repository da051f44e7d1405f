import { statSync } from 'node:fs';
import { CounterpointError, didYouMean, nearestNames, printable } from '@counterpoint/core/base';
import type { EventLookup, ProbeFile } from '@counterpoint/core/events';
import {
  codeInFile,
  type KernelCode,
  type NamedCode,
  readKernelCode,
} from '../../kernel/local-pmus/index.ts';

/** Words of perf, what the kernel calls them, and whether they are about a range. */
const ACTIONS: Readonly<Record<string, readonly [kernel: string, isRange: boolean]>> = {
  filter: ['filter', true],
  start: ['start', false],
  stop: ['stop', false],
  tracestop: ['stop', true],
};

const REMEDY =
  "Give filter, start, stop or tracestop, then a function or address, maybe ' / ' and where it ends, and the file: --filter 'filter main @ ./program'.";

/** perf counts on pages of this size, where it asks how far the kernel reaches. */
const PAGE_BYTES = 4096;
/** So many functions of one name are listed where it must be said which one is meant. */
const MOST_LISTED = 10;

interface Place {
  start: bigint;
  /** Null: a number says nothing of it. */
  size: bigint | null;
}

/** A place as it is written. */
interface PlaceWords {
  word: string;
  /** Which one of that name, from 1; 0: the one that is not static; null: the only one. */
  choice: number | null;
}

/** Where names are looked up. */
interface Names {
  readonly owner: string;
  named(name: string): NamedCode[];
  near(name: string): string;
}

/**
 * Address filters as perf writes them, in the kernel's words (PERF_EVENT_IOC_SET_FILTER):
 * places are offsets in the file.
 *
 *   filter main / work @ ./program          filter 0x1168/0x73@/home/me/program
 *   list   := one { (',' | ' ') one }
 *   one    := ACTION ' ' place [ ' / ' place-or-size ] [ '@' FILE ]
 *   place  := FUNCTION [ '#' which ] | NUMBER | '*'
 *   which  := COUNT | 'g'                    the COUNTth of that name by address, or the one that is not static (also #0)
 *
 * `*` is the whole file. Without a file, places are in the kernel. A number may have '/' and '@' right behind
 * it; a function's name ends at a blank.
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
  if (start.word === '') throw refused(reader.text, `no place follows ${word}`);
  const end = reader.take('/') ? reader.place() : null;
  const path = reader.take('@') ? reader.word() : null;
  const [kernel, isRange] = action;
  const { text } = reader;
  const file = path === null ? null : openFile(text, path, lookup);
  const suffix = file === null ? '' : `@${file.path}`;
  if (start.word === '*') {
    const whole = file === null ? wholeKernel(text) : { start: 0n, size: BigInt(statSync(file.path).size) };
    return `${kernel} ${hex(whole.start)}/${hex(whole.size)}${suffix}`;
  }
  const names = file === null ? kernelNames(text) : namesOf(file);
  const from = placeOf(text, start, names);
  const size = end === null ? (from.size ?? 0n) : sizeUpTo(text, from, end, names);
  if (file === null && isRange && size === 0n && from.size !== null)
    throw refused(text, `the kernel does not say where ${printable(start.word)} ends`);
  return `${kernel} ${hex(from.start)}${isRange || end !== null ? `/${hex(size)}` : ''}${suffix}`;
}

function sizeUpTo(text: string, from: Place, end: PlaceWords, names: Names): bigint {
  const number = numberOf(end.word);
  if (number !== null) return number;
  const to = placeOf(text, end, names);
  const size = to.start + (to.size ?? 0n) - from.start;
  if (size <= 0n) throw refused(text, `${printable(end.word)} ends before the place where the range begins`);
  return size;
}

function placeOf(text: string, { word, choice }: PlaceWords, names: Names): Place {
  const number = numberOf(word);
  if (number !== null) return { start: number, size: null };
  const all = names.named(word);
  const found = choice === 0 ? all.filter(({ isGlobal }) => isGlobal) : all;
  if (all.length === 0)
    throw refused(text, `${names.owner} has no function ${printable(word)}${names.near(word)}`);
  if (found.length === 0)
    throw refused(text, `each ${printable(word)} of ${names.owner} is static: #g fits none`);
  const chosen = choice === null || choice === 0 ? onlyOne(text, word, found, names) : found[choice - 1];
  if (chosen === undefined)
    throw refused(text, `${names.owner} has ${all.length} of ${printable(word)}, and no #${choice}`);
  return { start: chosen.start, size: chosen.sizeBytes };
}

/** Which one of several is meant, nobody can guess. */
function onlyOne(text: string, word: string, found: readonly NamedCode[], { owner }: Names): NamedCode {
  if (found.length === 1) return found[0]!;
  const listed = found
    .slice(0, MOST_LISTED)
    .map(({ start, isGlobal }, at) => `#${at + 1} at ${hex(start)}${isGlobal ? '' : ' (static)'}`);
  const more = found.length > MOST_LISTED ? ', ...' : '';
  throw new CounterpointError(
    'ERR_FILTER',
    `the filter '${printable(text)}' does not say which function is meant: ${owner} has ${found.length} of ${printable(word)}: ${listed.join(', ')}${more}`,
    `Give its number behind the name, '${printable(word)} #2', or #g for the one that is not static.`,
  );
}

function namesOf(file: ProbeFile): Names {
  return {
    owner: file.path,
    named: (name) => codeInFile(file.path, name),
    near: (name) => didYouMean(nearestNames(name, [...file.functions.keys()])),
  };
}

/** Read only where a name asks for it. */
function kernelNames(text: string): Names {
  return { owner: 'the kernel', named: (name) => kernelCode(text).named(name), near: () => '' };
}

function wholeKernel(text: string): { start: bigint; size: bigint } {
  const whole = kernelCode(text).whole(PAGE_BYTES)!;
  return { start: whole.start, size: whole.sizeBytes };
}

function kernelCode(text: string): KernelCode {
  const code = readKernelCode();
  if (code !== null) return code;
  throw new CounterpointError(
    'ERR_FILTER',
    `the filter '${printable(text)}' names a function of the kernel (no file follows @), and the kernel hides where its functions are`,
    'Record as root with sysctl kernel.kptr_restrict at 0 or 1, or give the address, or name a file: @ ./program.',
  );
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

function hex(value: bigint): string {
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
  place(): PlaceWords {
    const number = this.#match(/\s*(?:0x[0-9a-f]+|\d+|\*)(?=[\s,/@]|$)/iy).trim();
    if (number !== '') return { word: number, choice: null };
    const word = this.#match(/\s*[^\s,]*/y).trim();
    const mark = this.#match(/\s*#[^\s,/@]*/y).trim();
    return { word, choice: mark === '' ? null : this.#choice(mark) };
  }

  #choice(mark: string): number {
    if (/^#g$/i.test(mark)) return 0;
    if (/^#(?:0x[0-9a-f]+|\d+)$/i.test(mark)) return Number(mark.slice(1));
    throw refused(this.text, `'${printable(mark)}' is neither a number, as #2, nor #g`);
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
