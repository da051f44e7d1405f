/** Terms of a PMU and their bits: the text of sysfs's `format/`, from values to attr words and back. */

/** The word of `perf_event_attr` that a term's bits are in. */
export type ConfigWord = 'config' | 'config1' | 'config2';

/**
 * A term's place, lowest bits of its value first:
 *
 *   AMD's event  config:0-7,32-35   pieces [[0, 7], [32, 35]]
 */
export interface TermLayout {
  /** As it is written: `event`, `umask`, `cmask`. */
  readonly name: string;
  /** The word that has all its bits. */
  readonly word: ConfigWord;
  /** First and last bit of each piece, the piece with the lowest bits of the value first. */
  readonly pieces: readonly (readonly [number, number])[];
}

/** The words of `perf_event_attr` that say which event it is. */
export interface ConfigWords {
  /** Unsigned, 64 bits. */
  config: bigint;
  /** Unsigned, 64 bits. */
  config1: bigint;
  /** Unsigned, 64 bits. */
  config2: bigint;
}

/** A term that was given a value: `['event', 0x3cn]`. */
export type TermValue = readonly [name: string, value: bigint];

/** `term('event', 'config', 0, 7, 32, 35)`: pairs of first and last bit. */
export function term(name: string, word: ConfigWord, ...bits: number[]): TermLayout {
  const pieces: [number, number][] = [];
  for (let at = 0; at < bits.length; at += 2) pieces.push([bits[at]!, bits[at + 1]!]);
  return { name, word, pieces };
}

/** As sysfs writes it: `config:0-7,32-35`, `config:18`. */
export function formatText(layout: TermLayout): string {
  return `${layout.word}:${layout.pieces.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(',')}`;
}

/** The attr words of terms. `null`: a term that the PMU does not have, or a value too wide for it. */
export function encodeTerms(layouts: readonly TermLayout[], terms: readonly TermValue[]): ConfigWords | null {
  const words: ConfigWords = { config: 0n, config1: 0n, config2: 0n };
  for (const [name, value] of terms) {
    const layout = layouts.find((candidate) => candidate.name === name);
    if (layout === undefined) return null;
    let rest = value;
    for (const [from, to] of layout.pieces) {
      const width = BigInt(to - from + 1);
      words[layout.word] |= (rest & ((1n << width) - 1n)) << BigInt(from);
      rest >>= width;
    }
    if (rest !== 0n) return null;
  }
  return words;
}

/** The value of a term in the word that holds it. */
export function readTerm(layout: TermLayout, word: bigint): bigint {
  let value = 0n;
  let shift = 0n;
  for (const [from, to] of layout.pieces) {
    const width = BigInt(to - from + 1);
    value |= ((word >> BigInt(from)) & ((1n << width) - 1n)) << shift;
    shift += width;
  }
  return value;
}

/** `event=0x3c,umask=0x00`. */
export function termsText(terms: readonly TermValue[]): string {
  return terms.map(([name, value]) => `${name}=0x${value.toString(16).padStart(2, '0')}`).join(',');
}
