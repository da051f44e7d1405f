/** Rows of samples one by one, as objects. `linux/sample/record/sample-encoder.ts` writes them without. */
import { PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER } from '@counterpoint/core/abi';
import type { FormatSample, SampleRows } from './format.ts';

const HIGH_HALF = 2 ** 32;

/** The word at which the n-th row begins. */
export function rowStart({ places, rowWords }: SampleRows, index: number): number {
  return (places === undefined ? index : places[index]!) * rowWords;
}

/** Low half of the mark that begins the part of a chain in which an address of this high half is. */
export function ownMark(addressHi: number): number {
  return (addressHi >= HIGH_HALF / 2 ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER) >>> 0;
}

export function* samplesOfRows(rows: SampleRows): Generator<FormatSample> {
  for (let index = 0; index < rows.count; index++) yield sampleOfRow(rows, index);
}

export function sampleOfRow(rows: SampleRows, index: number): FormatSample {
  const { words, at, cpu, chains } = rows;
  const start = rowStart(rows, index);
  const ip = pairAt(words, start + at.ip);
  return {
    event: words[start + at.event]!,
    ip,
    pid: words[start + at.pid]!,
    tid: words[start + at.tid]!,
    cpu,
    timeNs: timeOfRow(rows, index),
    period: pairAt(words, start + at.period),
    ...(chains === undefined || at.chain === undefined
      ? {}
      : { callchain: chainAt(chains, words[start + at.chain]!, ip) }),
  };
}

/** Of the n-th row. */
export function timeOfRow(rows: SampleRows, index: number): bigint {
  const { at, timesNs } = rows;
  if (timesNs !== undefined) return timesNs[index]!;
  return at.timeNs === undefined ? rows.timeNs : pairAt(rows.words, rowStart(rows, index) + at.timeNs);
}

/**
 * The same as a number, whole within a hundred days of the machine's start; for code that looks at all rows.
 */
export function timeNumberOfRow(rows: SampleRows, index: number): number {
  const { words, at, timesNs } = rows;
  if (timesNs !== undefined) return Number(timesNs[index]);
  if (at.timeNs === undefined) return Number(rows.timeNs);
  const start = rowStart(rows, index) + at.timeNs;
  return words[start + 1]! * HIGH_HALF + words[start]!;
}

/** Of the chain at a place; at 0 is none, and it is a mark and the address. */
export function chainLength(chains: Uint32Array, place: number): number {
  return place === 0 ? 2 : chains[2 * place]!;
}

function chainAt(chains: Uint32Array, place: number, ip: bigint): bigint[] {
  const length = chainLength(chains, place);
  const mark = ownMark(Number(ip >> 32n));
  if (place === 0) return [BigInt.asUintN(64, BigInt(mark | 0)), ip];
  const chain = Array.from({ length }, (_, index) => pairAt(chains, 2 * (place + 1 + index)));
  if (length > 1 && chains[2 * (place + 1)] === mark) chain[1] = ip;
  return chain;
}

function pairAt(words: Uint32Array, at: number): bigint {
  return (BigInt(words[at + 1]!) << 32n) | BigInt(words[at]!);
}
